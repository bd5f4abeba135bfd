package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is its own child (see RunChild), and the victim of the tests
// that kill an agent.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildCommand {
		RunChild()
	}
	if dir := os.Getenv("AGENT_TEST_VICTIM"); dir != "" {
		victim(dir)
	}
	os.Exit(m.Run())
}

func newLocal(t *testing.T) (*Local, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sweep-state")
	j, err := OpenJournal(dir, "RESULTS")
	if err != nil {
		t.Fatal(err)
	}
	l := NewLocal(j)
	t.Cleanup(func() { l.Close(context.Background()) })
	return l, dir
}

func output(t *testing.T, p Process) string {
	t.Helper()
	var b bytes.Buffer
	for c := range p.Output() {
		if c.Time == 0 {
			t.Error("a chunk without a time")
		}
		b.Write(c.Data)
	}
	return b.String()
}

func TestStart(t *testing.T) {
	l, _ := newLocal(t)
	ctx := context.Background()
	p, err := l.Start(ctx, Spec{
		Name:  "probe",
		Argv:  []string{"sh", "-c", `echo $MARK; pwd; stty size; grep Cpus_allowed_list /proc/self/status; exit 7`},
		Env:   []string{"MARK=env"},
		Dir:   "/",
		CPUs:  []int{0},
		Slice: 300 * time.Microsecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := output(t, p)
	want := "env\r\n/\r\n50 500\r\nCpus_allowed_list:\t0\r\n"
	if got != want {
		t.Errorf("output %q; want %q", got, want)
	}
	exit, err := p.Wait(ctx)
	if err != nil || exit != (Exit{Code: 7}) {
		t.Errorf("Wait = %v, %v; want exit code 7", exit, err)
	}
}

func TestStartedThreadsHaveTheSlice(t *testing.T) {
	l, _ := newLocal(t)
	const slice = 700 * time.Microsecond
	p, err := l.Start(context.Background(), Spec{Name: "sleeper", Argv: []string{"sleep", "60"}, Slice: slice})
	if err != nil {
		t.Fatal(err)
	}
	attr, err := unix.SchedGetAttr(p.Identity().PID, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Linux 6.12 and later give the slice back, older ones nothing.
	if got := time.Duration(attr.Runtime); got != slice && got != 0 {
		t.Errorf("slice %v; want %v", got, slice)
	}
}

func TestStartFails(t *testing.T) {
	l, dir := newLocal(t)
	for _, tt := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "server", Argv: []string{"no-such-testpmd"}}, "start server: no-such-testpmd is not installed; ./prepare.sh installs it"},
		{Spec{Name: "server", Argv: nil}, "no command"},
		{Spec{Name: "server", Argv: []string{"/etc/passwd"}}, "permission denied"},
		{Spec{Name: "server", Argv: []string{"true"}, CPUs: []int{1000}}, "bind to CPUs [1000]"},
	} {
		_, err := l.Start(context.Background(), tt.spec)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Start(%v): %v; want %q in it", tt.spec.Argv, err, tt.want)
		}
	}
	// None of them is left to undo.
	for _, c := range journalled(t, dir) {
		t.Errorf("still in the journal: %v", c)
	}
}

func TestWriteAndSignal(t *testing.T) {
	l, _ := newLocal(t)
	ctx := context.Background()
	p, err := l.Start(ctx, Spec{Name: "reader", Argv: []string{"sh", "-c", `read line; echo "got $line"; exec sleep 60`}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(ctx, []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for c := range p.Output() {
		text = append(text, c.Data...)
		if bytes.Contains(text, []byte("got hello")) {
			break
		}
	}
	if err := End(ctx, p); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(ctx)
	if err != nil || exit != (Exit{Code: -1, Signal: syscall.SIGKILL}) {
		t.Errorf("Wait = %v, %v; want killed by SIGKILL", exit, err)
	}
	if exit.String() != "killed by SIGKILL" {
		t.Errorf("Exit.String() = %q", exit)
	}
	if err := End(ctx, p); err != nil {
		t.Errorf("ending what has ended: %v", err)
	}
}

func TestCloseEndsAndRemoves(t *testing.T) {
	l, dir := newLocal(t)
	ctx := context.Background()
	p, err := l.Start(ctx, Spec{Name: "sleeper", Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := l.TempDir(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tmp, "socket"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(ctx, "/etc"); err == nil || !strings.Contains(err.Error(), "none of this run's") {
		t.Errorf("Remove of what TempDir didn't make: %v", err)
	}
	second, err := l.TempDir(ctx)
	if err != nil || second == tmp {
		t.Fatal(second, err)
	}
	if err := l.Remove(ctx, second); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(second); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", second, err)
	}
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if p.Identity().Alive() {
		t.Error("the process lives on")
	}
	for _, path := range []string{tmp, dir} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if _, err := l.Start(ctx, Spec{Name: "late", Argv: []string{"true"}}); err == nil {
		t.Error("a closed agent starts processes")
	}
}

func TestRead(t *testing.T) {
	l, _ := newLocal(t)
	r, err := l.Read(context.Background(), "/proc/sys/kernel/ostype", "/no/such/file")
	if err != nil {
		t.Fatal(err)
	}
	if string(r[0].Data) != "Linux\n" || r[0].Err != "" || r[0].Before == 0 || r[0].After < r[0].Before {
		t.Errorf("Read = %+v", r[0])
	}
	if r[1].Errno != syscall.ENOENT || !strings.Contains(r[1].Err, "/no/such/file") {
		t.Errorf("Read of a file that isn't there = %+v", r[1])
	}
}

func TestProcesses(t *testing.T) {
	l, _ := newLocal(t)
	ctx := context.Background()
	// A name with what parsers of /proc/PID/stat trip over.
	script := filepath.Join(t.TempDir(), "a) R 1 (")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nwhile :; do :; done\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := l.Start(ctx, Spec{Name: "spinner", Argv: []string{script}, CPUs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	s, err := l.Processes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Task, func(task Task) bool { return task.Identity == p.Identity() })
	if i < 0 {
		t.Fatal("the process is not in the list")
	}
	if task := s.Task[i]; task.Comm != "a) R 1 (" || task.CPU != 0 || task.Used == 0 {
		t.Errorf("task = %+v", task)
	}
}

func TestExchangeRefuses(t *testing.T) {
	l, _ := newLocal(t)
	if _, err := l.Exchange(context.Background(), "/no/such/socket"); err == nil || !strings.Contains(err.Error(), "/no/such/socket") {
		t.Errorf("Exchange = %v", err)
	}
}

func TestLock(t *testing.T) {
	release, err := Lock()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock()
	want := fmt.Sprintf("another sweep is running on this machine (pid %d)", os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("second Lock: %v; want %q in it", err, want)
	}
	release()
	release, err = Lock()
	if err != nil {
		t.Fatalf("Lock after release: %v", err)
	}
	release()
}

// victim is an agent that will be killed: it starts processes and folders one
// after the other for as long as it lives.
func victim(dir string) {
	j, err := OpenJournal(dir, "RESULTS")
	if err != nil {
		panic(err)
	}
	l := NewLocal(j)
	ctx := context.Background()
	for {
		if _, err := l.TempDir(ctx); err != nil {
			panic(err)
		}
		// Without its parent-death signal or its terminal's hang-up: what
		// ends it can only be the journal.
		if _, err := l.Start(ctx, Spec{Name: "sleeper", Argv: []string{"setpriv", "--pdeathsig", "clear", "sh", "-c", "trap '' HUP; exec sleep 987"}}); err != nil {
			panic(err)
		}
	}
}

func TestUndoAfterKill(t *testing.T) {
	for i := range 5 {
		dir := filepath.Join(t.TempDir(), "sweep-state")
		cmd := exec.Command("/proc/self/exe")
		mark := "AGENT_TEST_VICTIM=" + dir
		cmd.Env = append(os.Environ(), mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Itself, a process that it has started, and one that may still wait for
		// its orders and then ends with it.
		for end := time.Now().Add(20 * time.Second); len(marked(mark)) < 3 && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(37*i) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		time.Sleep(50 * time.Millisecond) // a child that still waits for orders ends

		alive := len(marked(mark))
		undone, err := Undo(context.Background(), dir, NoHosts)
		if err != nil {
			t.Fatal(err)
		}
		if len(undone) != 1 || undone[0].Running != nil || len(undone[0].Errs) > 0 || undone[0].Results != "RESULTS" {
			t.Errorf("Undo = %+v", undone)
		}
		if alive == 0 || len(undone[0].Changes) < alive {
			t.Errorf("%d things undone of the %d processes that were left", len(undone[0].Changes), alive)
		}
		if left := marked(mark); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
		for _, c := range undone[0].Changes {
			if _, err := os.Stat(c.Path); c.Kind == ChangeDir && !os.IsNotExist(err) {
				t.Errorf("%s is left", c.Path)
			}
		}
		if again, err := Undo(context.Background(), dir, NoHosts); err != nil || len(again) != 0 {
			t.Errorf("the second Undo = %+v, %v", again, err)
		}
	}
}

// marked are the processes with this in their environment.
func marked(mark string) (pids []string) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err == nil && slices.Contains(strings.Split(string(b), "\x00"), mark) {
			pids = append(pids, filepath.Base(filepath.Dir(p)))
		}
	}
	return pids
}

// journalled is what the journals in dir still hold.
func journalled(t *testing.T, dir string) []Change {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("journals %v, %v", paths, err)
	}
	_, changes, err := readJournal(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestUndoLeavesOthersAlone(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	id, err := IdentityOf(sleeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	gone := Identity{PID: 1 << 22, Start: 1, Boot: id.Boot}
	self, err := IdentityOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		owner   Identity
		process Identity
		running bool
	}{
		{"another that has the pid now", gone, Identity{id.PID, id.Start - 1, id.Boot}, false},
		{"a process of an earlier boot", gone, Identity{id.PID, id.Start, "00000000-0000-0000-0000-000000000000"}, false},
		{"a process of a run that lives", self, id, true},
	} {
		dir := filepath.Join(t.TempDir(), "sweep-state")
		j, err := OpenJournal(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		// The journal as it would be, were its owner another process.
		j.size, j.next = 0, 1
		if err := j.f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if err := j.write(owner{Owner: tt.owner}); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Add(Change{Kind: ChangeProcess, Name: "x", Process: &tt.process}); err != nil {
			t.Fatal(err)
		}
		undone, err := Undo(context.Background(), dir, NoHosts)
		if err != nil {
			t.Fatal(err)
		}
		if len(undone) != 1 || len(undone[0].Changes) != 0 || (undone[0].Running != nil) != tt.running {
			t.Errorf("%s: Undo = %+v", tt.name, undone)
		}
		if !id.Alive() {
			t.Fatalf("%s: Undo killed a process that is none of its own", tt.name)
		}
	}
}

func TestUndoOfADamagedJournal(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Mkdir(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a.journal": "",                   // killed before its first byte
		"b.journal": `{"owner":{"pid":41`, // in its first line
		"c.journal": `{"owner":{"pid":4194304,"start":1,"boot":"x"}}` + "\n" + // in its last
			fmt.Sprintf(`{"id":1,"kind":"dir","path":%q}`, victim) + "\n" + `{"id":2,"kind":"dir","pa`,
		"d.journal": `{"owner":{"pid":4194304,"start":1,"boot":"x"}}` + "\n" + `{"id":1,"kind":"from-the-future"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	undone, err := Undo(context.Background(), dir, NoHosts)
	if err != nil || len(undone) != 4 {
		t.Fatalf("Undo = %+v, %v", undone, err)
	}
	if _, err := os.Stat(victim); !os.IsNotExist(err) {
		t.Error("the change before the cut line is not undone")
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 1 || filepath.Base(left[0]) != "d.journal" {
		t.Errorf("left: %v; want only what this version can't undo", left)
	}
}

func TestJournalOnAFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep-state")
	j, err := OpenJournal(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Add(Change{Kind: ChangeDir, Path: "/one"}); err != nil {
		t.Fatal(err)
	}
	// A file-size limit cuts a write in the middle, as a full disk does.
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = uint64(j.size) + 10
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	_, addErr := j.Add(Change{Kind: ChangeDir, Path: "/two"})
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if addErr == nil {
		t.Fatal("a line that was not written whole is no error")
	}
	if _, err := j.Add(Change{Kind: ChangeDir, Path: "/three"}); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range journalled(t, dir) {
		paths = append(paths, c.Path)
	}
	if !slices.Equal(paths, []string{"/one", "/three"}) {
		t.Errorf("the journal holds %v", paths)
	}
}

// The files of a Spec are the program's descriptors from 3 on, and there is no
// other.
func TestStartWithFiles(t *testing.T) {
	l, _ := newLocal(t)
	ctx := context.Background()
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := []string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	p, err := l.Start(ctx, Spec{Name: "files", Argv: []string{"sh", "-c", "cat <&4; cat <&3; exec readlink /proc/self/fd/5"}, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for c := range p.Output() {
		out = append(out, c.Data...)
	}
	if got, want := string(out), "two\r\none\r\n"; got != want {
		t.Errorf("it printed %q; want %q", got, want)
	}
	if _, err := l.Start(ctx, Spec{Name: "files", Argv: []string{"true"}, Files: []string{files[0], filepath.Join(dir, "none")}}); err == nil || !strings.Contains(err.Error(), "none: no such file") {
		t.Errorf("a file that isn't there: %v", err)
	}
}
