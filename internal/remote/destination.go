package remote

import (
	"fmt"
	"strings"
	"unicode"
)

// checkDestination says what keeps a text from being a destination of ssh's:
// host, user@host, ssh://user@host:port, or a name of the user's configuration.
//
// It comes from a file that may be another's, and ssh passes it on: a ProxyCommand
// with %h in it is run by a shell. So what ssh itself refuses since OpenSSH 9.6
// (ssh.c, valid_hostname and valid_ruser) is refused here, whatever ssh there is.
func checkDestination(dest string) error {
	bad := func(why string) error {
		return fmt.Errorf("%q is no host that ssh could reach: %s; write a name of your ~/.ssh/config, host, user@host or ssh://user@host:port", dest, why)
	}
	if dest == "" {
		return bad("it is empty")
	}
	for _, r := range dest {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar:
			return bad("it has a blank or a control character in it")
		case strings.ContainsRune("'\"`$;&<>|(){}", r):
			return bad(fmt.Sprintf("it has %q in it, which a shell would act on", r))
		}
	}
	host := strings.TrimPrefix(dest, "ssh://")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		if strings.HasPrefix(host, "-") || i == 0 {
			return bad("its user is none")
		}
		host = host[i+1:]
	}
	switch {
	case host == "":
		return bad("it names no host")
	case strings.HasPrefix(dest, "-"), strings.HasPrefix(host, "-"):
		return bad("it begins with -, as options do")
	case strings.Contains(host, `\`):
		return bad(`it has \ in it, which a shell would act on`)
	}
	return nil
}
