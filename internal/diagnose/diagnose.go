// Package diagnose says what went wrong. It recognises the failures that
// people meet with DPDK's testpmd, its vhost library and drivers, VFIO and
// dpdk-devbind, QEMU, KVM and the guests in what these print, and answers each
// with one sentence: what happened, why, and the command that mends it. What
// can be seen before a run is checked by the functions in preflight.go.
//
// No exit code is asked: testpmd ends with 0 after most of its failures, or
// doesn't end at all.
//
// The failures are a table of rules, a file a concern: eal.go, vfio.go,
// vhost.go, testpmd.go, qemu.go, guest.go and host.go. The next failure is one
// more rule there, and one more text in testdata.
package diagnose

import (
	"cmp"
	"slices"
	"strings"
)

// Finding is one recognised failure.
type Finding struct {
	Line int    `json:"line"` // 1-based line of the text it was recognised at; 0: in no text
	Kind string `json:"kind"` // short and stable, such as "vhost-socket-taken"

	What string `json:"what"` // what happened
	Why  string `json:"why"`  // why
	Mend string `json:"mend"` // what mends it, with the command

	// Fatal says that a run ends here or counts for nothing. What is not
	// fatal is worth knowing and stops no run by itself.
	Fatal bool `json:"fatal"`
}

// String is the finding as one sentence.
func (f Finding) String() string { return f.What + ": " + f.Why + "; " + f.Mend }

// Explain finds the known failures in what a process printed: testpmd, QEMU, a
// guest on its serial line, or several of them in one text. Terminal codes,
// prompts and events in between are no hindrance.
//
// A failure is reported once, at its cause: what follows from it ("Cannot init
// EAL", "exiting with code: 1") is left out, and is a finding, unspecific as it
// is, only where no cause was recognised. The order is that of the lines.
func Explain(text []byte) []Finding {
	c := newConsole(text)
	rules := table()
	said := make([]bool, len(rules)) // of what is said once
	var hits []hit
	for i, l := range c.lines {
		if l.text == "" || i > 0 && l.text == c.lines[i-1].text && l.run == c.lines[i-1].run {
			continue // a line that repeats the one before says nothing new
		}
		for r := range rules {
			if said[r] {
				if rules[r].re.find(l.text) != nil {
					break
				}
				continue
			}
			if h, ok := rules[r].on(c, i); ok {
				hits = append(hits, h)
				said[r] = rules[r].once
				break // a line is one failure
			}
		}
	}
	return sift(hits)
}

// hit is a finding that may yet turn out to follow from another one.
type hit struct {
	Finding
	rank rank
	once bool
	run  int
}

// sift keeps the causes: within what one process printed, a hit is dropped
// where a fatal one of a better rank is there.
func sift(hits []hit) []Finding {
	best := map[int]rank{}
	for _, h := range hits {
		if r, ok := best[h.run]; h.rank != note && (!ok || h.rank < r) {
			best[h.run] = h.rank
		}
	}
	type key struct{ kind, what string }
	seen := map[key]bool{}
	var found []Finding
	for _, h := range hits {
		if r, ok := best[h.run]; ok && h.rank > r {
			continue
		}
		k := key{h.Kind, h.What}
		if h.once {
			k.what = ""
		}
		if seen[k] {
			continue
		}
		seen[k] = true
		found = append(found, h.Finding)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return found
}

// Last returns the last n lines that mean something, as a person would read
// them on the terminal: without terminal codes, empty lines, bare prompts and
// the pages of help that testpmd prints after a wrong option.
func Last(text []byte, n int) []string {
	var last []string
	help := false
	for _, l := range readable(text) {
		switch {
		case strings.HasPrefix(l, "Usage: "):
			help = true
		case strings.Contains(l, detected):
			help = false
		}
		if l != "" && l != strings.TrimSpace(prompt) && !comment(l) && !(help && helpLine(l)) {
			last = append(last, l)
		}
	}
	return last[max(0, len(last)-n):]
}

// helpLine tells the pages of options from what is printed among them: on a
// pipe their first half may come before the error and their second after it.
func helpLine(l string) bool {
	return strings.HasPrefix(l, "Usage: ") ||
		(l[0] == ' ' || l[0] == '\t') && !strings.HasPrefix(l, "  Cause: ") ||
		strings.Contains(l, "options") && strings.HasSuffix(l, ":")
}
