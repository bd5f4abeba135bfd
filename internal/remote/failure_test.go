package remote

import (
	"strings"
	"testing"
	"time"
)

const agentPath = "/home/u/.cache/sweep/agent-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// What ssh (OpenSSH 7.4 to 9.9), sudo, coreutils, busybox and shells print, as they
// print it.
func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		said  string
		stage stage
		kind  string
		want  string // in the sentence
	}{
		{"ssh: Could not resolve hostname lab1: Name or service not known", reaching, "name-unknown", "db1 has no address"},
		{"ssh: Could not resolve hostname lab1: Temporary failure in name resolution", reaching, "name-unknown", ""},
		{"ssh: connect to host 10.0.0.9 port 22: Connection refused", reaching, "refused", "systemctl start ssh"},
		{"ssh: connect to host 10.0.0.9 port 22: No route to host", reaching, "unreachable", "ssh -F cfg db1 true"},
		{"ssh: connect to host 10.0.0.9 port 22: Network is unreachable", reaching, "unreachable", ""},
		{"ssh: connect to host 10.0.0.9 port 22: Connection timed out", reaching, "unreachable", ""},
		{"Connection timed out during banner exchange\nConnection to 198.18.0.9 port 22 timed out", reaching, "unreachable", ""},
		{"Host key verification failed.", reaching, "host-key-unknown", "connect once by hand"},
		{"No ED25519 host key is known for far and you have requested strict checking.\nHost key verification failed.", reaching, "host-key-unknown", ""},
		{"@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key for far has changed and you have requested strict checking.\nHost key verification failed.", reaching, "host-key-changed", "ssh-keygen -R"},
		{"root@far: Permission denied (publickey).", reaching, "key-refused", "no password is ever asked for"},
		{"u@far: Permission denied (publickey,gssapi-keyex,gssapi-with-mic,password).", reaching, "key-refused", "ssh-add"},
		{"Received disconnect from 10.0.0.9 port 22:2: Too many authentication failures\nDisconnected from 10.0.0.9 port 22", reaching, "keys-too-many", "IdentitiesOnly"},
		{"@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @\nu@far: Permission denied (publickey).", reaching, "key-file", "chmod 600"},
		{"Unable to negotiate with 10.0.0.9 port 22: no matching host key type found. Their offer: ssh-rsa,ssh-dss", reaching, "no-common-algorithm", ""},
		{"/home/u/cfg: line 1: Bad configuration option: nonsense\n/home/u/cfg: terminating, 1 bad configuration options", reaching, "ssh-config", ""},
		{"Can't open user config file /home/u/x: No such file or directory", reaching, "ssh-config", ""},
		{"hostname contains invalid characters", reaching, "name-invalid", ""},
		{"kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.9 port 22", reaching, "busy", "MaxStartups"},
		{"kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535", reaching, "busy", "jump host"},
		{"Connection closed by 10.0.0.9 port 22", reaching, "closed", ""},
		{"Timeout, server 10.0.0.9 not responding.", starting, "server-silent", ""},
		{"This account is currently not available.", reaching, "no-shell", ""},
		{"sudo: a password is required", starting, "sudo-password", "NOPASSWD"},
		{"sudo: a terminal is required to read the password; either use the -S option to read from standard input or configure an askpass helper\nsudo: a password is required", starting, "sudo-password", ""},
		{"u is not in the sudoers file.  This incident will be reported.", starting, "sudo-not-allowed", "as root"},
		{"sudo: sorry, you must have a tty to run sudo", starting, "sudo-tty", "requiretty"},
		{"sh: 1: exec: sudo: not found", starting, "sudo-missing", ""},
		{"sh: line 1: exec: sudo: not found", starting, "sudo-missing", ""},
		{"sweep-script: lacks sha256sum", reaching, "program-missing", "db1 has no sha256sum"},
		{"head: error writing 'standard output': No space left on device\nsweep-script: not brought " + agentPath, bringing, "no-space", "no room"},
		{"sh: 1: cannot create " + agentPath + ".12: Disk quota exceeded", bringing, "no-space", ""},
		{"sweep-script: not brought " + agentPath, bringing, "not-brought", "echo abc | ssh -F cfg db1 wc -c"},
		{"mkdir: cannot create directory '/home/u/.cache': Permission denied\nsweep-script: not made /home/u/.cache/sweep", reaching, "no-cache", ""},
		{"mkdir: cannot create directory '/home/u/.cache': Read-only file system\nsweep-script: not made /home/u/.cache/sweep", reaching, "read-only", ""},
		{"sh: 1: exec: " + agentPath + ": Permission denied", starting, "no-exec", "noexec"},
		{"sh: line 1: " + agentPath + ": Permission denied", starting, "no-exec", ""},
		{"sudo: unable to execute " + agentPath + ": Permission denied", starting, "no-exec", ""},
		{"sh: 1: exec: " + agentPath + ": Exec format error", starting, "architecture", "uname -m"},
		{"bash: line 1: " + agentPath + ": cannot execute binary file: Exec format error", starting, "architecture", ""},
		{agentPath + ": line 4: syntax error: EOF in backquote substitution", starting, "architecture", ""},
		{"sweep: journal: mkdir /home/u/.local: permission denied", starting, "journal", "mkdir /home/u/.local: permission denied"},
		{"Killed", starting, "agent-ended", "exit code 137"},
		{"Welcome!", reaching, "unknown", "exit code 137"},
	} {
		f := explain("db1", ended{stage: tt.stage, said: "Welcome to db1\n" + tt.said + "\n", exit: 137, config: "cfg"})
		text := f.Error()
		if f.Kind != tt.kind || !strings.Contains(text, tt.want) {
			t.Errorf("%q is %s: %s; want %s with %q", tt.said, f.Kind, text, tt.kind, tt.want)
		}
		for _, left := range []string{"DEST", "FILE ", "$1", "sweep-script", "%!"} {
			if strings.Contains(text, left) {
				t.Errorf("%s has %q in it", text, left)
			}
		}
		if f.What == "" || f.Why == "" || f.Mend == "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestExplainHang(t *testing.T) {
	f := explain("db1", ended{stage: bringing, hung: time.Minute, exit: -1})
	want := "db1 did nothing for 1m0s, while the binary was brought: it hangs, it is overloaded, or something there waits for input, such as a line in ~/.bashrc; see that this ends at once: ssh db1 true"
	if f.Kind != "hangs" || f.Error() != want {
		t.Errorf("%s: %s; want %s", f.Kind, f, want)
	}
}

func TestCheckDestination(t *testing.T) {
	for _, good := range []string{
		"db1", "root@db1", "db1.example.org", "10.0.0.9", "fe80::1%eth0", "ssh://u@db1:2222", "ssh://u@[fe80::1]:22",
		`DOMAIN\user@db1`, "first.last@db1", "a_b-c", "u@example.org@jump",
	} {
		if err := checkDestination(good); err != nil {
			t.Error(err)
		}
	}
}

func TestLastLines(t *testing.T) {
	got := lastLines("first\n\x1b[31mred\x00\r\n\nsweep-script: want\n"+strings.Repeat("x", 400), 2)
	if want := "[31mred\n" + strings.Repeat("x", 300) + "..."; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}
