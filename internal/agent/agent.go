// Package agent is all that touches a machine: processes and their terminals,
// counters with the time they were read at, files, and the journal of what was
// changed, with the way back.
//
// Everything above it (console, testpmd, qemu, server, client) asks an [Agent]
// and nothing else, so that the same code drives this machine in-process
// ([Local]) and another one through the same static binary over ssh. That is
// why every request and every answer here is plain data: no file descriptor,
// no pointer into the other side, no closure crosses the line.
package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Agent serves typed requests on one machine. Its methods may be called from
// several goroutines. All times are of the machine the agent runs on.
type Agent interface {
	// Start starts a process. It is in the journal, synced to disk, before
	// its program runs.
	Start(ctx context.Context, spec Spec) (Process, error)

	// Wake starts a process that wakes up on each of the CPUs every d, so
	// that the scheduler looks there whose turn it is: pollers that share a
	// CPU never sleep, and between two ticks nothing else makes it look.
	Wake(ctx context.Context, cpus []int, d time.Duration) (Process, error)

	// Read reads files, /proc and /sys included, each with the time it was
	// read at. A file that can't be read is an error in its Reading only.
	Read(ctx context.Context, paths ...string) ([]Reading, error)

	// List says what there is: the paths that match the patterns (those of
	// path/filepath's Match), in the patterns' order and by name.
	List(ctx context.Context, patterns ...string) ([]Entry, error)

	// Put brings a file of the caller's machine to the agent's, into a folder of
	// the run's own that is journalled, and returns its path there. Where the
	// two machines are one nothing is copied.
	Put(ctx context.Context, path string) (string, error)

	// Apply makes a change to the machine, whose way back is in the journal,
	// synced to disk, before. What is as it is wanted already is no change, and
	// id is 0 then.
	Apply(ctx context.Context, c Change) (id uint64, err error)

	// Revert undoes a change that Apply made; 0 is none.
	Revert(ctx context.Context, id uint64) error

	// Find says which of the programs (names, looked for on the PATH) and
	// files (paths) is not there or can't be read.
	Find(ctx context.Context, names ...string) error

	// SHA256 is a file's checksum, in hexadecimal digits.
	SHA256(ctx context.Context, path string) (string, error)

	// Exchange connects to a SOCK_SEQPACKET socket, reads the greeting, and
	// sends each request in turn; the greeting is the first Reading. This is
	// how DPDK's telemetry is spoken to.
	Exchange(ctx context.Context, socket string, requests ...string) ([]Reading, error)

	// Processes lists what runs on the machine.
	Processes(ctx context.Context) (Snapshot, error)

	// Usage says what pollers had of their CPUs until now.
	Usage(ctx context.Context, pollers ...Poller) ([]Usage, error)

	// Pin binds the threads of a running process whose name starts with
	// prefix to the given CPUs, and says how many threads that were.
	Pin(ctx context.Context, pid int, prefix string, cpus []int) (int, error)

	// TempDir makes a folder of the run's own with a short path (a Unix
	// socket's path holds 107 bytes), readable by this user only, journalled.
	TempDir(ctx context.Context) (string, error)

	// Remove removes a folder that TempDir made, and what is in it.
	Remove(ctx context.Context, dir string) error

	// Close undoes, newest first, whatever of this agent's is left. It takes
	// a context of its own because the run's is over by then.
	Close(ctx context.Context) error
}

// Time is a reading of CLOCK_MONOTONIC on the agent's machine, in nanoseconds.
// It means nothing on another machine or after a reboot.
type Time int64

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Spec says what to start and how.
type Spec struct {
	// Name is what the process is called in the record and in messages,
	// such as "server" or "guest".
	Name string `json:"name"`

	// Argv is the command and its arguments.
	Argv []string `json:"argv"`

	// Env is added to the agent's own environment, "NAME=value".
	Env []string `json:"env,omitempty"`

	// Dir is the working folder; the agent's own where empty.
	Dir string `json:"dir,omitempty"`

	// CPUs restricts the process and its threads; any CPU where empty.
	CPUs []int `json:"cpus,omitempty"`

	// Files are opened, for reading and writing, before the program runs, and
	// are its descriptors 3, 4, ...: such as a tap's /dev/tapN.
	Files []string `json:"files,omitempty"`

	// Slice is the scheduler slice each of its threads asks for
	// (sched_setattr(2), SCHED_OTHER with sched_runtime; Linux 6.12 and
	// later, ignored before). Zero leaves the kernel's own, some
	// milliseconds. Threads inherit it.
	Slice time.Duration `json:"slice,omitempty"`
}

// Process is one that the agent started.
type Process interface {
	// Identity tells the process from any other that ever had its pid.
	Identity() Identity

	// Output gives what the process prints on its terminal, as it comes. It
	// must be drained; it is closed when the terminal is at its end.
	Output() <-chan Chunk

	// Write types on the process's terminal; ErrGone where that is closed.
	Write(ctx context.Context, p []byte) error

	// Signal sends a signal. It is no error if the process is gone.
	Signal(ctx context.Context, sig syscall.Signal) error

	// Wait waits for the end of the process.
	Wait(ctx context.Context) (Exit, error)
}

// ErrGone says that a process has closed its terminal.
var ErrGone = errors.New("the process is gone")

// Chunk is a piece of a process's output and the time it was read at.
type Chunk struct {
	Time Time   `json:"time"`
	Data []byte `json:"data"`
}

// Exit is how a process ended.
type Exit struct {
	Code   int            `json:"code"`             // -1 where a signal ended it
	Signal syscall.Signal `json:"signal,omitempty"` // 0 where it ended by itself
}

func (e Exit) String() string {
	if e.Signal != 0 {
		return "killed by " + unix.SignalName(e.Signal)
	}
	return "exit code " + strconv.Itoa(e.Code)
}

// Reading is the content of a file, or an answer on a socket, and when.
// Before and After enclose the moment the data was true.
type Reading struct {
	Path   string `json:"path"`
	Before Time   `json:"before"`
	After  Time   `json:"after"`
	Data   []byte `json:"data,omitempty"`
	Err    string `json:"err,omitempty"`

	// Errno is the error number of Err, 0 where there is none.
	Errno syscall.Errno `json:"errno,omitempty"`
}

// Entry is something in the file system. It is not followed where it is a link.
type Entry struct {
	Path   string `json:"path"`
	Target string `json:"target,omitempty"` // of a symbolic link, as it is written there
	Dir    bool   `json:"dir,omitempty"`
}

// Snapshot is the machine's processes at a time.
type Snapshot struct {
	Time Time     `json:"time"`
	Self Identity `json:"self"` // the agent's own
	Task []Task   `json:"task"`
}

// Task is one process: its identity, name, the CPU it last ran on, and the CPU
// time that it has used since it started (all its threads).
type Task struct {
	Identity
	Comm string        `json:"comm"`
	CPU  int           `json:"cpu"`
	Used time.Duration `json:"used"`
}

// End ends a process for certain and waits for it, 5 s at most.
func End(ctx context.Context, p Process) error {
	if err := p.Signal(ctx, syscall.SIGKILL); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := p.Wait(ctx); err != nil {
		return fmt.Errorf("pid %d does not end: %w", p.Identity().PID, err)
	}
	return nil
}
