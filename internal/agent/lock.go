package agent

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// lockName is an abstract Unix socket: one a machine (a network namespace, to
// be exact), whoever the user is, with no file to leave behind, and the kernel
// lets go of it however its holder ends.
const lockName = "@sweep-run"

// ErrRunning says that another run holds this machine.
type ErrRunning struct {
	PID int // 0 where it could not be found out
}

func (e *ErrRunning) Error() string {
	if e.PID == 0 {
		return "another sweep is running on this machine; two would measure each other: wait for it to end"
	}
	return fmt.Sprintf("another sweep is running on this machine (pid %d); two would measure each other: wait for it to end, or end it with kill %d", e.PID, e.PID)
}

// Lock makes this process the only one that measures on this machine. The
// lock is let go of by release, and when the process ends.
func Lock() (release func(), err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	addr := &unix.SockaddrUnix{Name: lockName}
	if err := unix.Bind(fd, addr); errors.Is(err, unix.EADDRINUSE) {
		unix.Close(fd)
		return nil, &ErrRunning{PID: lockHolder(addr)}
	} else if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("lock: %w", err)
	}
	// Who connects learns our pid from the kernel.
	if err := unix.Listen(fd, 4); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("lock: %w", err)
	}
	return func() { unix.Close(fd) }, nil
}

func lockHolder(addr unix.Sockaddr) int {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, addr); err != nil {
		return 0
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(cred.Pid)
}
