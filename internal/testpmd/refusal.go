package testpmd

import "strings"

// refusalIn says whether a line is one by which testpmd refuses a command, and
// returns its words. testpmd says so nowhere else: it goes on, and ends with
// exit code 0 (app/test-pmd, config.c, cmdline.c and testpmd.c; on standard
// error since DPDK 21.08).
func refusalIn(text string) (string, bool) {
	text = strings.TrimSpace(text)
	for strings.HasPrefix(text, Prompt) {
		text = strings.TrimSpace(text[len(Prompt):])
	}
	for _, prefix := range refusals {
		if strings.HasPrefix(text, prefix) {
			return text, true
		}
	}
	if strings.HasPrefix(text, "Port ") && strings.HasSuffix(text, " is now not stopped") ||
		strings.HasSuffix(text, "- give up") {
		return text, true
	}
	return "", false
}

var refusals = [...]string{
	"Bad arguments",
	"Command not found",
	"Ambiguous command",
	"Invalid port",
	"Please remove port",
	"Please stop port",
	"Please stop all ports",
	"Packet forwarding already started",
	"Packet forwarding not started",
	"Not all ports were started",
	"Fail to configure port",
	"Fail to start port",
	"Start ports failed",
}
