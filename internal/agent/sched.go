package agent

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setAffinity binds a thread (0: this one, and what it becomes) to CPUs.
func setAffinity(tid int, cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("bind to CPUs %v: %w", cpus, err)
	}
	return nil
}

// setSlice asks for a scheduler slice for this thread and what it becomes.
// Kernels before 6.12 take the call and change nothing; an error would only
// mean the same, so there is none to report.
func setSlice(d time.Duration) {
	attr := unix.SchedAttr{
		Size:    unix.SizeofSchedAttr,
		Policy:  unix.SCHED_NORMAL,
		Runtime: uint64(d),
	}
	_ = unix.SchedSetAttr(0, &attr, 0)
}

// wake sleeps on each of the CPUs, for d again and again, and never returns.
//
// The kernel looks for a better task to run when one wakes up or at the
// scheduler's tick (every 4 ms with HZ=250). Where two pollers share a CPU
// nothing ever wakes up, so a slice shorter than the tick changes nothing:
// somebody has to wake up that often. That is all this does.
func wake(cpus []int, d time.Duration) {
	runtime.GOMAXPROCS(len(cpus) + 1) // see wakeOne: each holds one for good
	for _, cpu := range cpus[1:] {
		go wakeOne(cpu, d)
	}
	wakeOne(cpus[0], d)
}

func wakeOne(cpu int, d time.Duration) {
	runtime.LockOSThread()
	_ = setAffinity(0, []int{cpu})
	setSlice(d)
	// The default slack of 50 µs would be a sixth of the sleep.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	ts := unix.NsecToTimespec(int64(d))
	for {
		// RawSyscall, for the Go scheduler needn't know: there is nothing
		// else to run here.
		_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	}
}
