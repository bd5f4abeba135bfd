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

// open returns a descriptor that stands for this very process (pidfd_open(2)),
// or ok false where it is gone. The pidfd holds on to whatever has the pid now;
// if that started when ours did, after it was opened, it is ours and stays so.
func (id Identity) open() (fd int, ok bool, err error) {
	boot, err := bootID()
	if err != nil || boot != id.Boot {
		return -1, false, err
	}
	fd, err = unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return -1, false, nil
	}
	if err != nil {
		return -1, false, fmt.Errorf("pid %d: %w", id.PID, err)
	}
	if st, err := readStat(id.PID); err != nil || st.start != id.Start {
		unix.Close(fd)
		return -1, false, nil
	}
	return fd, true, nil
}

// gone waits, d at most, until all threads of the process behind a pidfd have
// ended. That the process is a zombie isn't enough: its first thread may be one
// while others still hold its files and sockets.
func gone(fd int, d time.Duration) bool {
	for end := time.Now().Add(d); ; {
		left := max(time.Until(end), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if err == nil || !errors.Is(err, unix.EINTR) {
			return n > 0
		}
	}
}

// Alive says whether this very process still runs, any thread of it.
func (id Identity) Alive() bool {
	return !id.WaitGone(0)
}

// WaitGone waits until the process is gone, at most d, and says whether it is.
func (id Identity) WaitGone(d time.Duration) bool {
	fd, ok, err := id.open()
	if err != nil || !ok {
		return err == nil
	}
	defer unix.Close(fd)
	return gone(fd, d)
}

// Kill sends sig to this very process. A process that is gone, or whose pid
// belongs to another one by now, is left alone, and that is no error.
func (id Identity) Kill(sig syscall.Signal) error {
	fd, ok, err := id.open()
	if err != nil || !ok {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %v to pid %d: %w", sig, id.PID, err)
	}
	return nil
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
		ticks: num(14) + num(15),
		start: num(22),
		cpu:   int(num(39)),
	}, nil
}
