package perf

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	c, err := Parse([]byte("6123456789,,cycles:G,2000123456,100.00,,\r\n10987654321,,instructions:G,2000123456,100.00,1.79,insn per cycle\r\n"))
	if err != nil || c != (Counts{6123456789, 10987654321}) {
		t.Errorf("Parse = %+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"<not supported>,,cycles:G,0,100.00,,\n<not supported>,,instructions:G,0,100.00,,\n": "<not supported>",
		"5,,cycles:G,1,100.00,,\n<not counted>,,instructions:G,0,0.00,,\n":                   "<not counted>",
		"": "nothing",
		"Error: No permission to enable cycles:G event.\n": "No permission",
	} {
		if c, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %+v, %v; want %q", text, c, err, want)
		}
	}
}

// The perf that is here takes the command, whatever this machine's CPU counts.
func TestArgv(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Log(err)
		return
	}
	sleep := exec.Command("sleep", "5")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleep.Process.Kill(); sleep.Wait() }()
	argv := Argv(sleep.Process.Pid, 10*time.Millisecond)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "perf_event_paranoid") {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := Parse(out); err == nil {
		t.Errorf("a process without a guest: %s", out)
	}
}
