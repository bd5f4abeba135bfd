// Package perf counts what a virtual machine's guest takes of the CPU's own
// counters, with the kernel's perf (perf-stat(1)): cycles and instructions while
// the guest runs, and not while its host does (the modifier G).
package perf

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Counts are what a guest took.
type Counts struct {
	Cycles       uint64 `json:"cycles"`
	Instructions uint64 `json:"instructions"`
}

// Argv is the command that counts the process with this pid, QEMU's, for some
// time.
func Argv(pid int, d time.Duration) []string {
	return []string{"env", "LC_ALL=C", "perf", "stat", "-x", ",", "-e", "cycles:G,instructions:G",
		"--pid", strconv.Itoa(pid), "--", "sleep", strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}
}

// Parse reads what perf stat -x, prints: a line an event, its value first.
func Parse(out []byte) (Counts, error) {
	found := map[string]uint64{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		fields := strings.Split(strings.TrimSpace(sc.Text()), ",")
		if len(fields) < 4 || !strings.HasSuffix(fields[2], ":G") {
			continue
		}
		event := strings.TrimSuffix(fields[2], ":G")
		n, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return Counts{}, fmt.Errorf("the CPU's counter of %s: %s: this machine doesn't give it to guests", event, fields[0])
		}
		found[event] = n
	}
	c := Counts{found["cycles"], found["instructions"]}
	if c.Cycles == 0 || c.Instructions == 0 {
		return c, fmt.Errorf("perf counted nothing: %q", out)
	}
	return c, nil
}
