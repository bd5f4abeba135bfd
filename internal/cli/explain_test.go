package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/internal/diagnose"
)

// runExplain runs the command alone, without the rest of the program.
func runExplain(t *testing.T, stdin string, args ...string) (code int, out string) {
	t.Helper()
	c := newExplainCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	var b bytes.Buffer
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&b)
	c.SetErr(&b)
	err := c.ExecuteContext(context.Background())
	var exit *exitError
	switch {
	case err == nil:
		return 0, b.String()
	case errors.As(err, &exit):
		return exit.Code(), b.String()
	}
	return exitUsage, b.String() // cobra's own: wrong usage
}

const takenLog = `VHOST_CONFIG: (/tmp/v.sock) vhost-user server: socket created, fd: 17
VHOST_CONFIG: (/tmp/v.sock) failed to bind: Address already in use; remove it and try again
Failed to start driver for /tmp/v.sock
Port0 dev_configure = -1
Fail to configure port 0
Start ports failed
testpmd> ` + "\x1b[0K\r\n"

func TestExplainText(t *testing.T) {
	code, out := runExplain(t, takenLog, "-")
	if code != exitFailed {
		t.Errorf("code %d, want %d for a failure", code, exitFailed)
	}
	lines := strings.Split(out, "\n")
	if !strings.HasPrefix(lines[0], "-:2: /tmp/v.sock exists already") || !strings.Contains(lines[0], "rm /tmp/v.sock") {
		t.Errorf("first line: %s", lines[0])
	}
	want := "\nThe last lines of -:\n  VHOST_CONFIG: (/tmp/v.sock) vhost-user server"
	if !strings.Contains(out, want) || strings.Contains(out, "\x1b") || !strings.HasSuffix(out, "  Start ports failed\n") {
		t.Errorf("the console's last lines are not there, clean:\n%s", out)
	}
}

func TestExplainNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client.console")
	if err := os.WriteFile(file, []byte("EAL: Detected CPU lcores: 2\nConfiguring Port 0 (socket 0)\ntestpmd> "), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := runExplain(t, "", file)
	if want := "nothing known to be wrong in " + file + "\n"; code != 0 || out != want {
		t.Errorf("code %d, %q, want 0 and %q", code, out, want)
	}
}

func TestExplainNote(t *testing.T) {
	code, out := runExplain(t, "EAL: No available 1048576 kB hugepages reported\ntestpmd> \n", "-")
	if code != 0 || !strings.HasPrefix(out, "-:1: note: no hugepage of 1 GiB is free") || !strings.Contains(out, "nothing known to be wrong in -\n") {
		t.Errorf("code %d:\n%s", code, out)
	}
}

func TestExplainJSON(t *testing.T) {
	code, out := runExplain(t, takenLog, "-", "--format", "json")
	var got explanation
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if code != exitFailed || len(got.Findings) != 1 || got.Findings[0].Kind != "vhost-socket-taken" || got.Findings[0].Line != 2 || !got.Findings[0].Fatal || len(got.Last) == 0 {
		t.Errorf("code %d: %+v", code, got)
	}
	if got.Findings[0].String() != diagnose.Explain([]byte(takenLog))[0].String() {
		t.Error("the finding in JSON lost a part of its sentence")
	}

	_, out = runExplain(t, "", "-", "--format=json")
	if !strings.Contains(out, `"findings": []`) {
		t.Errorf("no findings are not an empty list: %s", out)
	}
}

func TestExplainUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"a", "b"},
		{"-", "--format", "yaml"},
		{"-", "--nosuch"},
		{filepath.Join(t.TempDir(), "absent")},
	} {
		if code, out := runExplain(t, "", args...); code != exitUsage {
			t.Errorf("%q: code %d, want %d: %s", args, code, exitUsage, out)
		}
	}
}
