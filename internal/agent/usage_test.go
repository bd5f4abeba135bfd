package agent

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestUsageOfThreads(t *testing.T) {
	proc := t.TempDir()
	for tid, files := range map[string][2]string{
		"7": {"1000 200 3\n", "Name:\trte-worker-1\nState:\tR (running)\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t4\n"},
		"8": {"50 6 1\n", "Name:\ttelemetry\nState:\tT (stopped)\nnonvoluntary_ctxt_switches:\t3\n"},
	} {
		dir := filepath.Join(proc, "task", tid)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"schedstat", "status"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(files[i]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	var all, worker, none Usage
	if err := all.read(proc, ""); err != nil || all != (Usage{Ran: 1050, Waited: 206, Involuntary: 7, Stopped: true}) {
		t.Errorf("usage of all %+v, %v", all, err)
	}
	if err := worker.read(proc, "worker"); err != nil || worker != (Usage{Ran: 1000, Waited: 200, Involuntary: 4}) {
		t.Errorf("usage of the worker %+v, %v", worker, err)
	}
	if err := none.read(proc, "CPU"); err == nil {
		t.Errorf("usage of no thread: %+v", none)
	}
}

// A process that is stopped neither runs nor waits.
func TestUsageOfAStoppedProcess(t *testing.T) {
	l, _ := newLocal(t)
	ctx := context.Background()
	p, err := l.Start(ctx, Spec{Name: "spinner", Argv: []string{"sh", "-c", "while :; do :; done"}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range p.Output() {
		}
	}()
	defer End(ctx, p)
	usage := func() Usage {
		t.Helper()
		u, err := l.Usage(ctx, Poller{PID: p.Identity().PID})
		if err != nil {
			t.Fatal(err)
		}
		return u[0]
	}
	first := usage()
	time.Sleep(100 * time.Millisecond)
	ran := usage()
	if ran.Stopped || ran.Ran+ran.Waited <= first.Ran+first.Waited {
		t.Errorf("it spun from %+v to %+v", first, ran)
	}
	if err := p.Signal(ctx, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	stopped := usage()
	time.Sleep(100 * time.Millisecond)
	if later := usage(); !later.Stopped || later.Ran != stopped.Ran || later.Waited != stopped.Waited {
		t.Errorf("stopped, it went from %+v to %+v", stopped, later)
	}
	if _, err := l.Usage(ctx, Poller{PID: 1<<22 + 1}); err == nil {
		t.Error("a process that isn't there has a usage")
	}
}
