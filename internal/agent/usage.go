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
	"time"
)

// Usage is what a process had of its CPUs until a moment: all its threads
// together. What it neither ran nor waited is time in which it slept, or was
// stopped.
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
func (l *Local) Usage(_ context.Context, pids ...int) ([]Usage, error) {
	out := make([]Usage, len(pids))
	for i, pid := range pids {
		out[i].Before = now()
		err := out[i].read("/proc/" + strconv.Itoa(pid))
		out[i].After = now()
		if err != nil {
			return nil, fmt.Errorf("CPU time of pid %d: %w", pid, err)
		}
	}
	return out, nil
}

// read adds up the threads of a process, from its folder in /proc: schedstat
// has the time on a CPU and the time that was waited for one, in nanoseconds
// (the kernel's Documentation/scheduler/sched-stats.rst).
func (u *Usage) read(proc string) error {
	tasks, err := os.ReadDir(filepath.Join(proc, "task"))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		task := filepath.Join(proc, "task", t.Name())
		sched, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err == nil {
			err = u.addSched(sched)
		}
		var status []byte
		if err == nil {
			status, err = os.ReadFile(filepath.Join(task, "status"))
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended between the two looks
		}
		if err != nil {
			return err
		}
		u.addStatus(status)
	}
	return nil
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
