package machine

import (
	"fmt"
	"path/filepath"
	"strings"
)

// SSHConfig is the file that ssh -F takes (ssh_config(5)). It says all that is
// needed, so that the user's own configuration, agent and known hosts play no
// part. dir is the folder of the state, as an absolute path.
func SSHConfig(dir string, machines []Machine) string {
	var b strings.Builder
	for _, m := range machines {
		fmt.Fprintf(&b, `Host %s
	HostName 127.0.0.1
	Port %d
	User root
	HostKeyAlias %[1]s
	IdentityFile %[3]s
	IdentitiesOnly yes
	IdentityAgent none
	UserKnownHostsFile %[4]s
	GlobalKnownHostsFile /dev/null
	StrictHostKeyChecking yes
	BatchMode yes
	ConnectTimeout 30

`, m.Host(), m.Port, quotePath(filepath.Join(dir, "base", "id")), quotePath(filepath.Join(dir, "base", "known_hosts")))
	}
	return b.String()
}

// quotePath writes a path as ssh_config has it: quotes for its blanks, and its
// percent signs twice, because those two settings know tokens.
func quotePath(path string) string {
	return `"` + strings.ReplaceAll(path, "%", "%%") + `"`
}

// Testbed is the testbed's file. It has no path in it but that of ssh_config,
// beside it.
func Testbed() string {
	end := func(m Machine) string {
		return fmt.Sprintf(`  host: %s
  nic: 0000:00:%s
  dpdk_driver: vfio-pci
  iova: pa
  hugepages: {size: 2M, count: 256}
`, m.Host(), cableNIC)
	}
	return `# The two emulated machines of the rehearsal (docs/rehearsal.md). The cable has
# no rate of its own: what it carries is what the emulation can do.
link: none
ssh_config: ssh_config
sender:
` + end(Machine{Name: "a"}) + "receiver:\n" + end(Machine{Name: "b"})
}
