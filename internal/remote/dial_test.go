package remote

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweep/internal/agent"
)

// shells are those of which one is sh on a host.
func shells(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, script := range map[string]string{
		"dash":    `exec dash "$@"`,
		"bash":    `exec bash "$@"`,
		"busybox": `exec busybox sh "$@"`,
	} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("not tried: %v", err)
			continue
		}
		dir := t.TempDir()
		program(t, filepath.Join(dir, "sh"), script)
		found[name] = dir
	}
	return found
}

func program(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// farSide makes "ssh" a program that runs what it is told to here, in a home of
// its own, with the given shell for sh.
func farSide(t *testing.T, before, shell string) (cache string, o Options) {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	cache = filepath.Join(home, ".cache")
	program(t, filepath.Join(bin, "ssh"), before+`
export HOME=`+home+` XDG_CACHE_HOME= SWEEP_STATE_DIR=`+filepath.Join(home, "sweep-state")+` PATH=`+shell+`:$PATH
exec bash -c "${@: -1}"`)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return cache, Options{Destination: "far", Deadline: 20 * time.Second}
}

func TestDialAndClean(t *testing.T) {
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			// A shell that prints something, and half a line at last.
			cache, o := farSide(t, `echo "Welcome to far!"; printf "You have mail"; echo "a warning" >&2`, shell)
			var log bytes.Buffer
			o.Log = &log
			for range 2 { // brought, and there already
				h, err := Dial(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if err := h.Find(t.Context(), "sh"); err != nil {
					t.Error(err)
				}
				if err := h.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if err := h.Close(t.Context()); err != nil {
					t.Errorf("the second Close: %v", err)
				}
			}
			if got := log.String(); got != "a warning\na warning\n" {
				t.Errorf("log %q", got)
			}
			// What another version left, and half of one.
			for _, name := range []string{"agent-0123", "agent-0123.77"} {
				if err := os.WriteFile(filepath.Join(cache, "sweep", name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if undone, err := Clean(t.Context(), o); err != nil || len(undone) > 0 {
				t.Errorf("Clean = %+v, %v", undone, err)
			}
			if _, err := os.Stat(cache); !os.IsNotExist(err) {
				t.Errorf("%s is left, which was not there before: %v", cache, err)
			}
			// A cache that others use stays.
			if err := os.Mkdir(cache, 0o700); err != nil {
				t.Fatal(err)
			}
			if _, err := Clean(t.Context(), o); err != nil {
				t.Error(err)
			}
			left, err := os.ReadDir(cache)
			if err != nil || len(left) > 0 {
				t.Errorf("%s: %v, %v; want it there and empty", cache, left, err)
			}
		})
	}
}

func TestDialFails(t *testing.T) {
	tools := t.TempDir() // all but sha256sum
	for _, name := range []string{"bash", "sh", "head", "mkdir", "chmod", "mv", "rm", "rmdir"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(tools, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, before string
		set          func(o *Options)
		want         string // a Failure's kind, or words
	}{
		{"hangs", "exec sleep 60", func(o *Options) { o.Deadline = 300 * time.Millisecond }, "hangs"},
		{"prints without end", "exec yes", nil, "more than 64 KiB"},
		{"prints a line without end", "cat /dev/zero", nil, "more than 64 KiB"},
		{"prints much", "head -c 60000 /dev/zero; echo; exit 3", nil, "unknown"},
		{"lacks a program", "PATH=" + tools, nil, "program-missing"},
		{"cuts the binary", `exec < <(head -c 1000000)`, nil, "not-brought"},
		{"refuses the binary", `exec </dev/null`, nil, "not-brought"},
		{"no binary", "", func(o *Options) { o.Binary = "/no/such/sweep" }, "no such file"},
		{"another program", "", func(o *Options) { o.Binary = "/bin/false" }, "agent-ended"},
		{"no sudo", "", func(o *Options) { o.Sudo = true }, "sudo-missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath("sudo"); err == nil && tt.name == "no sudo" {
				t.Skip("there is one")
			}
			shell := t.TempDir()
			if tt.name == "lacks a program" {
				shell = tools + "; PATH=" + tools
			}
			cache, o := farSide(t, tt.before, shell)
			if tt.set != nil {
				tt.set(&o)
			}
			h, err := Dial(t.Context(), o)
			if err == nil {
				_ = h.Close(t.Context())
				t.Fatal("dialled")
			}
			var f *Failure
			if errors.As(err, &f) && f.Kind == tt.want {
				t.Log(err)
			} else if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Dial = %v; want %s", err, tt.want)
			}
			if half, _ := filepath.Glob(filepath.Join(cache, "sweep", "agent-*.*")); len(half) > 0 {
				t.Errorf("%q are left", half)
			}
		})
	}
}

// A connection whose ssh ends says what ssh said.
func TestLostSaysWhatSSHSaid(t *testing.T) {
	_, o := farSide(t, `echo "a banner" >&2; (sleep 1.5; echo "Timeout, server far not responding." >&2; kill $$) <&- >&- & `, t.TempDir())
	h, err := Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Start(t.Context(), agent.Spec{Name: "sleeper", Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Wait(t.Context())
	var lost *ErrLost
	if !errors.As(err, &lost) || !strings.HasPrefix(err.Error(), "the connection to far was lost: ssh says: Timeout, server far not responding.") {
		t.Errorf("Wait = %v", err)
	}
	if err := h.Close(context.Background()); !errors.As(err, &lost) {
		t.Errorf("Close = %v", err)
	}
}
