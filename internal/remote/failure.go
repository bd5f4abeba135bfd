package remote

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// stage is how far it came with a host.
type stage int

const (
	reaching stage = iota // ssh connects, or its shell starts
	bringing              // the binary is on its way
	starting              // the agent is started there
)

func (s stage) String() string {
	return [...]string{"while ssh connected to it", "while the binary was brought", "while the agent was started"}[s]
}

// ended is how an ssh ended that was to start an agent.
type ended struct {
	stage  stage
	said   string        // what ssh and the programs there printed
	exit   int           // ssh's exit code: 255 is its own, others the host's; -1 unknown
	hung   time.Duration // nothing had come for so long; else 0
	config string        // the configuration file that ssh was given, where it was
}

// Failure is why there is no agent on a host: one sentence, and what was printed.
type Failure struct {
	Kind string // short and stable, such as "host-key-unknown"
	Host string
	What string // what happened
	Why  string // why, probably
	Mend string // what mends it
	Said string // what ssh and the host printed, the last lines
}

func (f *Failure) Error() string {
	s := f.What + ": " + f.Why + "; " + f.Mend
	if f.Said != "" {
		s += "\nssh says: " + strings.ReplaceAll(f.Said, "\n", "\n          ")
	}
	return s
}

// reason is a failure that is recognised by what was printed. DEST stands for the
// destination, FILE for an argument that says which configuration is used, and $1
// for what the expression found.
type reason struct {
	kind            string
	found           string // a regular expression, upper and lower case alike
	what, why, mend string
}

// reasons are in order: the first one found is the one, so what is particular
// stands before what is general.
func reasons() []reason {
	return []reason{
		{"ssh-config", `bad configuration option|terminating, \d+ bad configuration|can't open user config|bad owner or permissions on .*config`,
			"ssh does not take its configuration", "a file of it is missing, or a line in it is wrong or of a newer ssh",
			"correct it until this works: ssh FILEDEST true"},
		{"name-invalid", `(?:hostname|remote username|username) contains invalid characters`,
			"ssh does not take DEST for a host", "it has characters in it that no name has", "correct it in the testbed's file"},
		{"name-unknown", `could not resolve hostname`,
			"DEST has no address", "the name is misspelled, or known to no name server and to no ssh configuration",
			"correct the name, or give it a Host block with HostName in ~/.ssh/config"},
		{"refused", `connection refused`,
			"DEST refuses the connection", "no sshd listens there at that port, or a firewall refuses it",
			"start sshd there (systemctl start ssh), or give the port: ssh://USER@HOST:PORT, or Port in ~/.ssh/config"},
		{"unreachable", `no route to host|network is unreachable|(?:connection|operation) timed out|connect to (?:host|address) .* timed out`,
			"DEST can't be reached", "it is off, its address is wrong, or a firewall or a missing VPN lies between",
			"see that this works: ssh FILEDEST true"},
		{"host-key-changed", `remote host identification has changed|host key for .* has changed`,
			"DEST has another host key than last time", "it was installed anew, or another machine answers in its place",
			"find out which of the two; where it is right, remove the old key (ssh-keygen -R HOST) and connect once by hand: ssh FILEDEST true"},
		{"host-key-unknown", `host key verification failed|no \S+ host key is known`,
			"the host key of DEST is not known here", "nobody has connected to it from this account, and nothing is asked while a run goes on",
			"connect once by hand and compare the key: ssh FILEDEST true"},
		{"key-file", `unprotected private key file|load key .*(?:bad permissions|error in libcrypto|invalid format)`,
			"ssh does not use the private key", "others may read the file, or it is damaged", "chmod 600 it; this must work: ssh FILEDEST true"},
		{"keys-too-many", `too many authentication failures`,
			"DEST broke off before the right key came", "the ssh agent offered it too many others first",
			"name the right one in ~/.ssh/config: IdentityFile, and IdentitiesOnly yes"},
		{"key-refused", `permission denied \(|no supported authentication methods`,
			"DEST accepts none of the keys", "none is in its authorized_keys for this user, or the one that is has a passphrase and is in no ssh agent; no password is ever asked for",
			"load it with ssh-add, or name User and IdentityFile in ~/.ssh/config, until this asks for nothing: ssh FILEDEST true"},
		{"no-common-algorithm", `unable to negotiate with|no matching (?:host key type|key exchange|cipher|mac)`,
			"DEST and this ssh have no algorithm in common", "one of the two is much older", "allow the older one in ~/.ssh/config, until this works: ssh FILEDEST true"},
		{"sudo-password", `sudo: .*password is required|sudo: .*terminal is required`,
			"sudo on DEST asks for a password", "the user may not become root without one, and no password is ever sent",
			"connect as root, or let the user do it: echo 'USER ALL=(root) NOPASSWD: ALL' in a file of /etc/sudoers.d there, with visudo -f"},
		{"sudo-not-allowed", `is not in the sudoers file|may not run sudo|is not allowed to execute`,
			"the user may not use sudo on DEST", "no line of its sudoers allows it",
			"connect as root, or allow it: echo 'USER ALL=(root) NOPASSWD: ALL' in a file of /etc/sudoers.d there, with visudo -f"},
		{"sudo-tty", `sudo: .*must have a tty`,
			"sudo on DEST wants a terminal", "its sudoers has requiretty", "remove that line there (visudo), or connect as root"},
		{"sudo-missing", `sudo: (?:command )?not found`,
			"DEST has no sudo", "it is not installed, or not on the PATH of a shell that ssh starts", "connect as root and leave sudo out"},
		{"program-missing", regexp.QuoteMeta(markLacks) + ` (\S+)`,
			"DEST has no $1", "the script that brings the binary needs it, and a shell that ssh starts finds it nowhere on its PATH", "install the package coreutils there"},
		{"journal", `sweep: journal: (.*)`,
			"the agent on DEST has no journal", "$1", "let the user write to ~/.local/state there, or give it a home: nothing is changed without a way back"},
		{"no-space", `no space left on device|disk quota exceeded`,
			"there is no room on DEST", "the disk, or the user's share of it, is full where the binary goes (~/.cache/sweep)", "make 30 MB of room there (df -h ~)"},
		{"read-only", `read-only file system`,
			"DEST keeps nothing", "the file system of ~/.cache is read-only there", "mount it writable, or set XDG_CACHE_HOME for that user in /etc/environment there to a folder that is"},
		{"not-brought", regexp.QuoteMeta(markNot) + ` brought`,
			"the binary did not come whole to DEST", "something else there reads the input, such as a line in ~/.bashrc, or the disk or the connection failed", "see that this prints 4: echo abc | ssh FILEDEST wc -c"},
		{"architecture", `exec format error|agent-[0-9a-f]{64}.*(?:syntax error|unexpected)`,
			"DEST can't run this binary", "its processor is of another kind than the one that sweep was built for", "build sweep for it there, or use a host of the same architecture (uname -m)"},
		{"no-exec", `agent-[0-9a-f]{64}\W*:? *(?:permission denied|operation not permitted)|unable to execute .*agent-[0-9a-f]{64}.*permission denied`,
			"DEST does not run what is in ~/.cache/sweep", "the file system there is mounted noexec, or a security module forbids it",
			"mount it with exec (mount -o remount,exec), or set XDG_CACHE_HOME for that user in /etc/environment there to a folder where programs may run"},
		{"no-cache", regexp.QuoteMeta(markNot) + ` made (\S*)|(?:mkdir|cannot create).*(?:permission denied|not a directory)`,
			"no folder for the binary can be made on DEST", "the user has no home there, or may not write to it",
			"give the user a home, or set XDG_CACHE_HOME for it in /etc/environment there to a folder that it may write to"},
		{"no-shell", `account is currently not available|this service allows sftp connections only|shell request failed|exec request failed`,
			"DEST runs no command for this user", "its shell is nologin, or sshd allows it something else only", "use a user with a shell there"},
		{"busy", `kex_exchange_identification|connection reset by peer|exceeded maxstartups`,
			"DEST broke off at once", "its sshd is busy (MaxStartups) or does not let this address in, what listens there is no sshd, or the jump host or ProxyCommand failed",
			"see that this works: ssh FILEDEST true"},
		{"server-silent", `timeout, server .* not responding`,
			"DEST fell silent", "it was reset, it hangs, or the network between is gone", "see that this works: ssh FILEDEST true"},
		{"closed", `connection (?:to \S+ )?closed by|broken pipe`,
			"DEST closed the connection", "it was shut down or its sshd was restarted, or does not let this user in", "see that this works: ssh FILEDEST true"},
	}
}

// saidLines is how much of what was printed is told.
const saidLines = 6

// explain says why there is no agent on dest.
func explain(dest string, e ended) *Failure {
	f := &Failure{Host: dest, Said: lastLines(e.said, saidLines)}
	fill := func(r reason, found []string) *Failure {
		file := ""
		if e.config != "" {
			file = "-F " + e.config + " "
		}
		first := ""
		if len(found) > 1 {
			first = strings.TrimSpace(found[1])
		}
		words := strings.NewReplacer("FILE", file, "DEST", dest, "$1", first)
		f.Kind, f.What, f.Why, f.Mend = r.kind, words.Replace(r.what), words.Replace(r.why), words.Replace(r.mend)
		return f
	}
	for _, r := range reasons() {
		if m := regexp.MustCompile(`(?i)` + r.found).FindStringSubmatch(e.said); m != nil {
			return fill(r, m)
		}
	}
	if e.hung > 0 {
		return fill(reason{
			kind: "hangs",
			what: fmt.Sprintf("DEST did nothing for %v, %v", e.hung, e.stage),
			why:  "it hangs, it is overloaded, or something there waits for input, such as a line in ~/.bashrc",
			mend: "see that this ends at once: ssh FILEDEST true",
		}, nil)
	}
	if e.stage == starting {
		return fill(reason{
			kind: "agent-ended",
			what: fmt.Sprintf("the agent on DEST ended before it said a word (exit code %d)", e.exit),
			why:  "it was killed, or could not start",
			mend: "what it printed says why; memory (free -m) and the kernel's log (dmesg) there may, too",
		}, nil)
	}
	return fill(reason{
		kind: "unknown",
		what: fmt.Sprintf("there is no agent on DEST: ssh ended with exit code %d, %v", e.exit, e.stage),
		why:  "for no reason that is known here",
		mend: "see that this works, and prints nothing: ssh FILEDEST true",
	}, nil)
}

// lastLines are the last n lines that are not blank, without the script's own:
// the sentence says those.
func lastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = printable(strings.TrimSpace(line))
		if line != "" && !strings.HasPrefix(line, "sweep-script: ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// printable is a line without what a terminal would act on, and not too long.
func printable(line string) string {
	const most = 300
	var b strings.Builder
	for _, r := range line {
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len() >= most {
			b.WriteString("...")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
