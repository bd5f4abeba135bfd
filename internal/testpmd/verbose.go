package testpmd

import (
	"regexp"
	"strconv"
)

// Frame is what testpmd prints of a frame that it received or sent, when it is
// told to `set verbose 1` (dump_pkt_burst in app/test-pmd/util.c).
type Frame struct {
	Source, Destination string // MAC addresses
	EtherType           uint16
	Length              int // bytes without FCS
	Sent                bool
	Port                int
}

var (
	verboseBurst = regexp.MustCompile(`port (\d+)/queue \d+: (received|sent) \d+ packets`)
	verboseFrame = regexp.MustCompile(`src=([0-9A-Fa-f:]{17}) - dst=([0-9A-Fa-f:]{17}) - (?:pool=\S+ - )?type=0x([0-9a-f]{4}) - length=(\d+)`)
)

// ParseVerbose finds the frames in what a verbose testpmd printed.
func ParseVerbose(text []byte) []Frame {
	var out []Frame
	bursts := verboseBurst.FindAllSubmatchIndex(text, -1)
	for i, b := range bursts {
		end := len(text)
		if i+1 < len(bursts) {
			end = bursts[i+1][0]
		}
		port, _ := strconv.Atoi(string(text[b[2]:b[3]]))
		sent := string(text[b[4]:b[5]]) == "sent"
		for _, m := range verboseFrame.FindAllSubmatch(text[b[1]:end], -1) {
			kind, _ := strconv.ParseUint(string(m[3]), 16, 16)
			length, _ := strconv.Atoi(string(m[4]))
			out = append(out, Frame{
				Source: string(m[1]), Destination: string(m[2]), EtherType: uint16(kind), Length: length, Sent: sent, Port: port,
			})
		}
	}
	return out
}
