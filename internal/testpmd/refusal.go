package testpmd

import "strings"

// refusalIn says whether a line is one by which testpmd refuses a command, and
// returns its words. testpmd says so nowhere else: it goes on, and ends with
// exit code 0 (app/test-pmd, config.c, cmdline.c and testpmd.c, lib/cmdline; on
// standard error since DPDK 21.08).
func refusalIn(text string) (string, bool) {
	if isComment(text) {
		return "", false // words about one
	}
	for _, r := range refusals {
		at := strings.Index(text, r.head)
		if at < 0 || !behindPrefix(text[:at]) {
			continue
		}
		words := strings.TrimRight(text[at:], ` .,"`)
		if rest, ok := strings.CutPrefix(words, r.head); ok && matches(r.rest, rest) {
			return strings.TrimRight(text[at:], ` ,"`), true
		}
	}
	return "", false
}

// refusals are what such lines begin with, and a pattern for the rest: # is a
// number, * anything but nothing.
var refusals = [...]struct{ head, rest string }{
	{"Bad arguments", ""},
	{"Command not found", ""},
	{"Ambiguous command", ""},
	{"Invalid port ", "#"},
	{"Invalid port ", "# (must be *"},
	{"Invalid port, range is ", "*"},
	{"Invalid port id ", "*"},
	{"invalid port id ", "#"},
	{"invalid port_id ", "#"},
	{"Error: Invalid port number ", "#"},
	{"Please remove port ", "# from *"},
	{"Please stop port ", "# first"},
	{"Please stop all ports first", ""},
	{"Please stop the ports first", ""},
	{"Please stop forwarding first", ""},
	{"Please start port ", "# first"},
	{"Please close port first", ""},
	{"Port ", "# is now not stopped"},
	{"Port ", "# not stopped"},
	{"Can not reset port(s), please stop port(s) first", ""},
	{"Packet forwarding already started", ""},
	{"Packet forwarding not started", ""},
	{"Packet forwarding is not ready", ""},
	{"Not all ports were started", ""},
	{"Fail to configure port ", "*"},
	{"Fail to start port ", "*"},
	{"Start ports failed", ""},
	{"total packet length=", "# < # - give up"},
	{"length[", "#]=# > * - give up"},
	{"offset[", "#]=# > * - give up"},
	{"nb segments per ", "* ignored"},
	{"Invalid ", "* packet forwarding mode"},
	{"Error: failed to get stats (port ", "#): *"},
}

// behindPrefix says whether only a prompt, quotes or what a logger prints
// stands before a line's own words.
func behindPrefix(s string) bool {
	s = strings.TrimRight(s, " ")
	if s == "" || strings.TrimLeft(s, " ") == `"` || strings.HasSuffix(s, `":"`) || strings.HasSuffix(s, `": "`) {
		return true
	}
	last := s[strings.LastIndexByte(s, ' ')+1:]
	switch last {
	case "stdout", "stderr", "F", "P":
		return true
	}
	return strings.IndexByte(":|>])", s[len(s)-1]) >= 0 || strings.ContainsAny(last, "0123456789")
}

func matches(pattern, s string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '#':
			n := countDigits(s)
			if n == 0 {
				return false
			}
			s = s[n:]
		case '*':
			tail := pattern[i+1:]
			return len(s) > len(tail) && strings.HasSuffix(s, tail)
		default:
			if s == "" || s[0] != pattern[i] {
				return false
			}
			s = s[1:]
		}
	}
	return s == ""
}
