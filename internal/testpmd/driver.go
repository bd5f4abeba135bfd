package testpmd

import (
	"context"
	"fmt"
	"regexp"
)

var driverLine = regexp.MustCompile(`(?m)^Driver name: (\S+)\s*$`)

// Driver is the name that DPDK has for the driver of a port, such as net_memif
// or net_ixgbe, as `show port info` says it.
func (s *Session) Driver(ctx context.Context, port int) (string, error) {
	command := fmt.Sprintf("show port info %d", port)
	r, err := s.Do(ctx, command)
	if err != nil {
		return "", err
	}
	for _, l := range screenLines(r.Text) {
		if m := driverLine.FindStringSubmatch(l.text); m != nil {
			return m[1], nil
		}
	}
	return "", fmt.Errorf("%s: no driver in the answer to %q", s.con.Name(), command)
}
