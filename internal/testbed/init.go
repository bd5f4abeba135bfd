package testbed

import (
	"bytes"
	"context"
	"fmt"

	"sweep/internal/agent"
)

// Init is a testbed's file for what two machines have. A machine's NIC is the
// first that the kernel drives and that it doesn't use itself, as far as used
// says; the others stand beside it as comments.
func Init(ctx context.Context, hosts [2]string, agents [2]agent.Agent, used func(agent.Agent, NIC) (string, error)) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# A testbed: docs/testbed.md explains each key. Look at the NICs before you use it.\n")
	b.WriteString("link: none                # the cable's rate, such as 10GbE\n")
	for i, role := range []string{"sender", "receiver"} {
		nics, err := NICs(ctx, agents[i])
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", role, hosts[i], err)
		}
		fmt.Fprintf(&b, "\n%s:\n  host: %s\n", role, hosts[i])
		chosen := false
		for _, n := range nics {
			why, err := used(agents[i], n)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", role, hosts[i], err)
			}
			switch {
			case why == "" && !chosen:
				chosen = true
				fmt.Fprintf(&b, "  nic: %s       # %s\n", n.PCI, n.about())
				if n.Driver != "" {
					fmt.Fprintf(&b, "  kernel_driver: %s\n", n.Driver)
				}
			case why == "":
				fmt.Fprintf(&b, "  # or    %s       # %s\n", n.PCI, n.about())
			default:
				fmt.Fprintf(&b, "  # not   %s       # %s: %s\n", n.PCI, n.about(), why)
			}
		}
		if !chosen {
			b.WriteString("  nic: 0000:00:00.0       # to be filled in: no NIC here is free\n")
		}
		b.WriteString("  dpdk_driver: vfio-pci\n  hugepages: {size: 2M, count: 1024}\n")
	}
	return b.Bytes(), nil
}

func (n NIC) about() string {
	text := n.ID
	if n.Interface != "" {
		text += ", " + n.Interface
	}
	if n.SpeedMbps > 0 {
		text += fmt.Sprintf(", %d Mb/s", n.SpeedMbps)
	}
	return text
}
