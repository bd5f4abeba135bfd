package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ChildCommand is the first argument by which the sweep binary knows that it
// was started as the beginning of another process (see RunChild). A program
// that uses Local must call RunChild first thing in main for it.
const ChildCommand = "__child"

// The descriptors that a child is started with beside its terminal.
const (
	childOrders = 3 // what to become, as JSON; at its end: go
	childReport = 4 // why it could not; at its end without a word: done
)

// orders is what the agent tells a child to become.
type orders struct {
	Argv  []string      `json:"argv"`
	Path  string        `json:"path"`
	CPUs  []int         `json:"cpus,omitempty"`
	Slice time.Duration `json:"slice,omitempty"`
	Wake  []int         `json:"wake,omitempty"`
}

// RunChild turns this process into the one that was asked for. It never
// returns.
//
// Between fork and exec a process waits here until the agent has written its
// pid and start time to the journal and synced it. Should the agent be killed
// before that, the child reads end of file and ends; should it be killed after
// that, the journal knows the child. There is no moment at which a process
// runs that nobody knows of.
func RunChild() {
	err := becomeOrders()
	report := os.NewFile(childReport, "report")
	fmt.Fprint(report, err)
	report.Close()
	os.Exit(125)
}

// becomeOrders returns only to say why it could not.
func becomeOrders() error {
	unix.CloseOnExec(childOrders)
	unix.CloseOnExec(childReport)
	b, err := io.ReadAll(os.NewFile(childOrders, "orders"))
	if err != nil {
		return err
	}
	var o orders
	if err := json.Unmarshal(b, &o); err != nil {
		os.Exit(125) // the agent is gone: nobody reads a report
	}
	if len(o.CPUs) > 0 {
		if err := setAffinity(0, o.CPUs); err != nil {
			return err
		}
	}
	if o.Slice > 0 {
		setSlice(o.Slice)
	}
	if len(o.Wake) > 0 {
		// Nothing to exec: the process stays what it is and wakes CPUs.
		os.NewFile(childReport, "report").Close()
		wake(o.Wake, o.Slice)
	}
	err = unix.Exec(o.Path, o.Argv, os.Environ())
	return fmt.Errorf("%s: %w", o.Path, err)
}

// lookPath finds a program as a shell would, with a message that names the
// package where one is known.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		// /usr/sbin is not on every user's PATH, and ip(8) lives there on
		// some distributions.
		for _, dir := range []string{"/usr/sbin", "/sbin"} {
			if p := dir + "/" + name; !strings.Contains(name, "/") && unix.Access(p, unix.X_OK) == nil {
				return p, nil
			}
		}
		return "", fmt.Errorf("%s is not installed; ./prepare.sh installs it", name)
	}
	return "", err
}
