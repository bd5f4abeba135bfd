package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Poller says which threads of a process poll.
type Poller struct {
	PID    int    `json:"pid"`
	Thread string `json:"thread"` // what their names contain; "" for all threads
}

// Usage is what a poller had of its CPUs until a moment. What it neither ran nor
// waited is time in which it slept, or was stopped.
type Usage struct {
	// Before and After enclose the moment.
	Before Time `json:"before"`
	After  Time `json:"after"`

	Ran    time.Duration `json:"ran"`    // on a CPU
	Waited time.Duration `json:"waited"` // for a CPU, ready to run
	// Involuntary is how often a thread was taken off its CPU although it had
	// more to do.
	Involuntary uint64 `json:"involuntary"`
	// Stopped says that the process stood still by a signal (SIGSTOP), or under
	// a debugger.
	Stopped bool `json:"stopped,omitempty"`
}

// Usage implements [Agent].
func (l *Local) Usage(_ context.Context, pollers ...Poller) ([]Usage, error) {
	out := make([]Usage, len(pollers))
	for i, p := range pollers {
		out[i].Before = now()
		err := out[i].read("/proc/"+strconv.Itoa(p.PID), p.Thread)
		out[i].After = now()
		if err != nil {
			return nil, fmt.Errorf("CPU time of pid %d: %w", p.PID, err)
		}
	}
	return out, nil
}

// read adds up threads of a process, from its folder in /proc: schedstat has the
// time on a CPU and the time that was waited for one, in nanoseconds (the
// kernel's Documentation/scheduler/sched-stats.rst).
func (u *Usage) read(proc, thread string) error {
	tasks, err := os.ReadDir(filepath.Join(proc, "task"))
	if err != nil {
		return err
	}
	found := false
	for _, t := range tasks {
		task := filepath.Join(proc, "task", t.Name())
		status, err := os.ReadFile(filepath.Join(task, "status"))
		if err == nil && !strings.Contains(threadName(status), thread) {
			continue
		}
		var sched []byte
		if err == nil {
			sched, err = os.ReadFile(filepath.Join(task, "schedstat"))
		}
		if err == nil {
			err = u.addSched(sched)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it ended between the two looks
		}
		if err != nil {
			return err
		}
		u.addStatus(status)
		found = true
	}
	if !found {
		return fmt.Errorf("it has no thread called %q", thread)
	}
	return nil
}

// threadName is what stands in the first line of proc(5)'s status.
func threadName(status []byte) string {
	line, _, _ := strings.Cut(string(status), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "Name:"))
}

func (u *Usage) addSched(b []byte) error {
	var ran, waited int64
	if _, err := fmt.Sscan(string(b), &ran, &waited); err != nil {
		return fmt.Errorf("schedstat %q: %w", bytes.TrimSpace(b), err)
	}
	u.Ran += time.Duration(ran)
	u.Waited += time.Duration(waited)
	return nil
}

// addStatus reads the two lines that count here of proc(5)'s status.
func (u *Usage) addStatus(b []byte) {
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "State": // T: stopped by a signal, t: by a debugger
			u.Stopped = u.Stopped || strings.HasPrefix(value, "T") || strings.HasPrefix(value, "t")
		case "nonvoluntary_ctxt_switches":
			n, _ := strconv.ParseUint(value, 10, 64)
			u.Involuntary += n
		}
	}
}
