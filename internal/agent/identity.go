package agent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Identity names a process for good: its pid, the time it started (clock ticks
// since boot, field 22 of /proc/PID/stat, proc(5)) and the boot it runs in. A
// pid alone comes back after a while, and after a reboot at once.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// Alive says whether this very process still runs (a zombie doesn't).
func (id Identity) Alive() bool {
	boot, err := bootID()
	if err != nil || boot != id.Boot {
		return false
	}
	st, err := readStat(id.PID)
	return err == nil && st.start == id.Start && st.state != 'Z' && st.state != 'X'
}

// Kill sends sig to this very process. A process that is gone, or whose pid
// belongs to another one by now, is left alone, and that is no error.
func (id Identity) Kill(sig syscall.Signal) error {
	// The pidfd holds on to whatever has the pid now; if that is still ours
	// after it was opened, the signal can reach nobody else.
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pid %d: %w", id.PID, err)
	}
	defer unix.Close(fd)
	if !id.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %v to pid %d: %w", sig, id.PID, err)
	}
	return nil
}

// WaitGone waits until the process is gone, at most d, and says whether it is.
func (id Identity) WaitGone(d time.Duration) bool {
	for end := time.Now().Add(d); ; time.Sleep(5 * time.Millisecond) {
		if !id.Alive() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// IdentityOf returns the identity of a process that runs now.
func IdentityOf(pid int) (Identity, error) {
	boot, err := bootID()
	if err != nil {
		return Identity{}, err
	}
	st, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: st.start, Boot: boot}, nil
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// stat is what this package uses of /proc/PID/stat.
type stat struct {
	comm  string
	state byte
	ticks uint64 // user and system time, all threads
	start uint64
	cpu   int
}

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

func parseStat(b []byte) (stat, error) {
	// The name may hold blanks and parentheses: it ends at the last one.
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open || end+2 > len(b) {
		return stat{}, fmt.Errorf("no process line: %q", b)
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 37 {
		return stat{}, fmt.Errorf("short process line: %q", b)
	}
	// f[0] is field 3 of proc(5).
	num := func(field int) uint64 {
		n, _ := strconv.ParseUint(f[field-3], 10, 64)
		return n
	}
	return stat{
		comm:  string(b[open+1 : end]),
		state: f[0][0],
		ticks: num(14) + num(15),
		start: num(22),
		cpu:   int(num(39)),
	}, nil
}
