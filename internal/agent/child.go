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
	Files []string      `json:"files,omitempty"`
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
	fd := uintptr(childReport)
	err := becomeOrders(&fd)
	report := os.NewFile(fd, "report")
	fmt.Fprint(report, err)
	report.Close()
	os.Exit(125)
}

// becomeOrders returns only to say why it could not; report is where, for it may
// have to make room.
func becomeOrders(report *uintptr) error {
	unix.CloseOnExec(childOrders)
	unix.CloseOnExec(childReport)
	in := os.NewFile(childOrders, "orders")
	b, err := io.ReadAll(in)
	in.Close()
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
	if err := openFiles(o.Files, report); err != nil {
		return err
	}
	err = unix.Exec(o.Path, o.Argv, os.Environ())
	return fmt.Errorf("%s: %w", o.Path, err)
}

// firstFile is the descriptor of the first of [Spec.Files].
const firstFile = 3

// openFiles makes files the descriptors 3, 4, ... of what this process becomes.
// The report moves out of their way: the exec must close it, and nothing else.
func openFiles(paths []string, report *uintptr) error {
	if len(paths) == 0 {
		return nil
	}
	clear := firstFile + len(paths) // beyond all of them
	away, err := unix.FcntlInt(*report, unix.F_DUPFD_CLOEXEC, clear)
	if err != nil {
		return fmt.Errorf("make room for %d files: %w", len(paths), err)
	}
	*report = uintptr(away)
	for i, path := range paths {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", path, err)
		}
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, clear)
		if err == nil {
			unix.Close(fd)
			err = unix.Dup2(high, firstFile+i)
		}
		if err != nil {
			return fmt.Errorf("make %s descriptor %d: %w", path, firstFile+i, err)
		}
	}
	return nil
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
