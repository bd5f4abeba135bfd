package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// qmpDeadline is for one command; QEMU answers at once unless it hangs.
const qmpDeadline = 10 * time.Second

// qmp gives QEMU one command by its monitor's socket (QEMU's
// docs/interop/qmp-spec.txt) and waits for the answer.
func qmp(ctx context.Context, dir, name, command string) error {
	ctx, cancel := context.WithTimeout(ctx, qmpDeadline)
	defer cancel()
	// By way of a descriptor: the folder's path may be too long for a socket's.
	at, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), name))
	if err != nil {
		return fmt.Errorf("QEMU's monitor %s: %w", filepath.Join(dir, name), err)
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(end); err != nil {
			return err
		}
	}
	answers := json.NewDecoder(conn)
	for _, c := range []string{"", "qmp_capabilities", command} { // the greeting comes by itself
		if c != "" {
			if err := json.NewEncoder(conn).Encode(map[string]string{"execute": c}); err != nil {
				return fmt.Errorf("%s to QEMU's monitor: %w", c, err)
			}
		}
		for {
			var answer struct {
				Greeting json.RawMessage `json:"QMP"`
				Return   json.RawMessage `json:"return"`
				Event    string          `json:"event"`
				Error    *struct {
					Desc string `json:"desc"`
				} `json:"error"`
			}
			if err := answers.Decode(&answer); err != nil {
				return fmt.Errorf("QEMU's monitor, after %q: %w", c, err)
			}
			if answer.Error != nil {
				return fmt.Errorf("QEMU refuses %s: %s", c, answer.Error.Desc)
			}
			if answer.Event == "" {
				break
			}
		}
	}
	return nil
}
