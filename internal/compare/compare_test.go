package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/testbed"
	"sweep/internal/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew, to be read before they are committed")

var (
	uk = plan.System{Guest: "unikraft", Attachment: "vhost-user"}
	lx = plan.System{Guest: "linux-dpdk", Attachment: "vhost-user"}
	kn = plan.System{Guest: "linux-kernel", Attachment: "vhost-user"}
)

func trial(s plan.System, size int, pps float64, set results.Settings) results.Trial {
	t := results.Trial{Trial: plan.Trial{System: s, Size: size}, RxPps: pps, Settings: set}
	if pps == 0 {
		t.Error = "it ended"
	}
	return t
}

// sides are two runs that differ in a bit of everything.
func sides() (a, b Side, between verdict.Verdict) {
	run := results.Run{
		Kit: "1.0", Started: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), Accel: "kvm", AccelWhy: "it boots",
		Plan:      plan.Plan{Sizes: []int{64}, Systems: []plan.System{uk, lx}, Trials: 7, Duration: 5 * time.Second, Wire: "memif", Seed: 7},
		Placement: testbed.Placement{Forwarder: 1, Guest: 2, Client: 3, House: []int{0}},
		Images:    map[string]results.Image{"unikraft": {Kernel: "/one/uk", KernelSHA256: "aa"}, "mine": {Kernel: "/one/mine"}},
		Machine:   results.Machine{CPU: "A | B", CPUs: 4, Cmdline: "quiet", Load: "0.1"},
	}
	other := run
	other.Started, other.Kit, other.Plan.Seed, other.Plan.Duration, other.Plan.Trials = time.Time{}, "", 9, 10*time.Second, 5
	other.Images = map[string]results.Image{"unikraft": {Kernel: "/two/uk", KernelSHA256: "bb"}, "mine": {Kernel: "/two/mine"}}
	other.Placement.Share = "cpu"
	other.Machine.Cmdline = "quiet mitigations=off"
	set := results.Settings{Accel: "kvm", VCPUs: 1, MemoryMiB: 256, Features: []string{"MAC"}}
	more := set
	more.VCPUs, more.Features = 2, []string{"CSUM", "MAC"}
	failed := trial(uk, 64, 0, results.Settings{}) // before its bench stood
	a = Side{Name: "results/a", Run: run, Trials: []results.Trial{
		failed, trial(uk, 64, 3e6, set), trial(uk, 64, 1e6, set), trial(uk, 1500, 8e5, set),
		trial(lx, 64, 4e6, set), trial(lx, 1500, 0, set), trial(kn, 64, 1e5, set),
	}}
	a.Verdict.Points = []verdict.Point{{System: uk, Size: 64, Interval: &stats.Interval{Low: 1e6, High: 3e6, Confidence: 0.95}}}
	b = Side{Name: "results/b", Run: other, Trials: []results.Trial{
		trial(lx, 1500, 5e5, more), trial(lx, 64, 2e6, more), trial(uk, 64, 2e6, more), trial(uk, 128, 1e6, more),
	}}
	between = verdict.Verdict{
		Family: "one comparison, nothing to correct: linux-dpdk/vhost-user at 64 B",
		Comparisons: []verdict.Comparison{
			{A: lx, B: lx, Size: 64, Outcome: verdict.Faster, Because: "p = 0.0087; not interleaved", Ratio: 1.9912, P: 0.0087, Interval: &stats.Interval{Low: 1.97, High: 2.01, Confidence: 0.95}},
			{A: uk, B: uk, Size: 64, Outcome: verdict.NotCompared, Because: "pollers shared a CPU"},
		},
	}
	return a, b, between
}

func TestGolden(t *testing.T) {
	a, b, between := sides()
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := Write(&out, format, Of(a, b, between)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "sample."+format)
		if *update {
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), out.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", format, d)
		}
	}
	if err := Write(&bytes.Buffer{}, "xml", Comparison{}); err == nil {
		t.Error("xml is taken for a format")
	}
}

func TestDifferences(t *testing.T) {
	a, b, between := sides()
	var got []string
	for _, d := range Of(a, b, between).Differences {
		got = append(got, d.about()+": "+d.A+" | "+d.B)
	}
	want := []string{
		"images, mine, kernel: /one/mine | /two/mine", // no sum: the path is all there is
		"images, unikraft, kernel sha256: aa | bb",
		"kit: 1.0 | ?",
		"machine, cmdline: quiet | quiet mitigations=off",
		"placement, share: nothing | cpu",
		"plan, duration: 5s | 10s",
		"plan, trials: 7 | 5",
		"unikraft/vhost-user, linux-dpdk/vhost-user: features: MAC | CSUM MAC",
		"unikraft/vhost-user, linux-dpdk/vhost-user: vcpus: 1 | 2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := Of(a, a, verdict.Verdict{}).Differences; len(d) > 0 {
		t.Errorf("a run differs from itself: %+v", d)
	}
}

func TestPoints(t *testing.T) {
	a, b, between := sides()
	type point struct {
		System       plan.System
		Size         int
		A, B, Ratio  float64
		Verdict, Why string
	}
	var got []point
	for _, p := range Of(a, b, between).Points {
		got = append(got, point{p.System, p.Size, p.A.RxPps, p.B.RxPps, p.Ratio, string(p.Verdict), p.Because})
	}
	want := []point{
		{uk, 64, 2e6, 2e6, 1, "not compared", "pollers shared a CPU"}, // the median of 3 and 1
		{uk, 128, 0, 1e6, 0, "not compared", "only B has a rate"},
		{uk, 1500, 8e5, 0, 0, "not compared", "only A has a rate"},
		{lx, 64, 4e6, 2e6, 1.9912, "faster", "p = 0.0087; not interleaved"},
		{lx, 1500, 0, 5e5, 0, "not compared", "only B has a rate"},
		{kn, 64, 1e5, 0, 0, "not compared", "only A has a rate"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Of an imported run nobody knows the machine: that is one line, and not one of
// a machine with 0 CPUs.
func TestImportedSide(t *testing.T) {
	a, b, _ := sides()
	b.Run = results.Run{Imported: "a log", Plan: plan.Plan{Sizes: []int{64}, Systems: []plan.System{uk, lx}, Trials: 7, Wire: "unknown"}}
	var got []string
	for _, d := range differences(a.Run, b.Run) {
		got = append(got, d.about()+": "+d.A+" | "+d.B)
	}
	want := []string{
		"imported: ? | a log",
		"machine, set-up, images and duration: in the record | ?",
		"plan, wire: memif | unknown",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := differences(b.Run, b.Run); len(d) > 0 {
		t.Errorf("an imported run differs from itself: %+v", d)
	}
}

// An archive may be anybody's: nothing in its record reaches a terminal's
// controls, becomes HTML or a link, or begins a line or a cell of its own.
func TestForeignRecord(t *testing.T) {
	const evil = "x\x1b]0;y\a\u202e\u009b2J\n<b>|](z"
	a, b, _ := sides()
	system := plan.System{Guest: evil, Attachment: "vhost-user"}
	a.Name, a.Run.Kit, a.Run.Machine.CPU, a.Run.Plan.Wire = evil, evil, evil, evil
	a.Trials = append(a.Trials, trial(system, 64, 1e6, results.Settings{}))
	b.Trials = append(b.Trials, trial(system, 64, 1e6, results.Settings{VCPUs: 1}))
	between := verdict.Verdict{Family: evil, Comparisons: []verdict.Comparison{{A: system, B: system, Size: 64, Outcome: verdict.NotCompared, Because: evil}}}
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := Write(&out, format, Of(a, b, between)); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for _, bad := range []string{"\x1b", "\a", "\u202e", "\u009b", "\n<b>"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q:\n%s", format, bad, text)
			}
		}
		switch format {
		case "json":
			var got Comparison
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || !strings.Contains(got.A.Name, "<b>|](z") {
				t.Errorf("%q, %v", got.A.Name, err)
			}
		case "markdown":
			rest := text
			for _, kept := range []string{`\<b>`, `]\(z`} {
				if !strings.Contains(rest, kept) {
					t.Errorf("no %s in\n%s", kept, text)
				}
				rest = strings.ReplaceAll(rest, kept, "")
			}
			if strings.Contains(rest, "<b>") || strings.Contains(rest, "](") {
				t.Errorf("HTML or a link in\n%s", text)
			}
			for row := range strings.Lines(text) {
				if strings.HasPrefix(row, "|") && strings.Contains(strings.ReplaceAll(row, `\|`, ""), "\\<b>|") {
					t.Errorf("a bar ends a cell: %s", row)
				}
			}
		}
	}
}

// Only what verdict says may be called faster.
func TestNothingIsFasterByItself(t *testing.T) {
	a, b, _ := sides()
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := Write(&out, format, Of(a, b, verdict.Verdict{})); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"faster", "slower", "equivalent\""} {
			if strings.Contains(out.String(), word) {
				t.Errorf("%s says %s without a test:\n%s", format, word, out.String())
			}
		}
	}
}

func TestJSON(t *testing.T) {
	a, b, between := sides()
	var out bytes.Buffer
	if err := Write(&out, "json", Of(a, b, between)); err != nil {
		t.Fatal(err)
	}
	var got Comparison
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Interleaved || got.A.Started != "2026-12-01T10:00:00Z" || got.B.Started != "" || len(got.Points) != 6 || got.Points[3].Interval.High != 2.01 {
		t.Errorf("%+v", got)
	}
}
