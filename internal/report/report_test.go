package report

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

	"sweep/internal/audit"
	"sweep/internal/guest"
	"sweep/internal/perf"
	"sweep/internal/plan"
	"sweep/internal/results"
)

var update = flag.Bool("update", false, "write the golden files anew, to be read before they are committed")

var (
	uk = plan.System{Guest: "unikraft", Attachment: "vhost-user"}
	lx = plan.System{Guest: "linux-dpdk", Attachment: "vhost-user"}
)

func trial(s plan.System, size, round int, pps, se float64, failure string, warnings ...string) results.Trial {
	return results.Trial{
		Trial: plan.Trial{System: s, Size: size, Round: round, Boot: round},
		RxPps: pps, RxError: se, Error: failure, Findings: standing(warnings),
	}
}

// sample is a run with all that a table can show.
func sample() (results.Run, []results.Trial) {
	const foreign = "stress (pid 7), none of this run's, used 90 % of a CPU"
	run := results.Run{
		Plan: plan.Plan{Sizes: []int{64, 1500}, Trials: 2, Duration: 5 * time.Second},
		Skipped: []results.Skipped{
			{System: plan.System{Guest: "unikraft", Attachment: "vhost-net"}, Why: "no vhost-net here"},
			{System: plan.System{Guest: "bare", Attachment: "vhost-user"}, Why: "no image"},
			{System: plan.System{Guest: "linux-dpdk", Attachment: "vhost-net"}, Why: "no vhost-net here"},
		},
		Warnings: []string{"the machine was busy"},
	}
	failed := trial(lx, 1500, 2, 0, 0, "guest: its kernel panicked, for want of memory: give it more")
	failed.Console = []string{"[ 1.0] Kernel panic - not syncing", "[ 1.0] ---[ end"}
	trials := []results.Trial{
		trial(uk, 64, 1, 14_191_420, 1200, ""), trial(uk, 64, 2, 14_191_480, 900, ""),
		trial(uk, 1500, 1, 818_558, 40_000, "", foreign),
		trial(lx, 64, 1, 1_651_603, 0, "", foreign, "observers disagree"),
		trial(lx, 1500, 1, 0, 0, failed.Error), failed,
	}
	for i := range trials {
		s := results.Settings{Accel: "kvm", VCPUs: 1, MemoryMiB: 256, Guest: "descriptors_a_packet=1"}
		if trials[i].System == uk {
			s.VCPUs, s.Guest = 2, "descriptors_a_packet=2"
		}
		trials[i].Settings = s
	}
	return run, trials
}

func TestGoldenCosts(t *testing.T) {
	count := func(s plan.System, size, boot int, ticks uint64, agreement float64, failure string) results.Cost {
		c := results.Cost{Trial: plan.Trial{System: s, Size: size, Boot: boot}, Count: guest.Count{Packets: 1000, Ticks: ticks}, Agreement: agreement, Error: failure}
		if failure != "" {
			c.Console = []string{"its last line"}
		}
		return c
	}
	run := results.Run{Plan: plan.Plan{Sizes: []int{64, 1500}, Trials: 2}, Skipped: []results.Skipped{{System: uk, Why: "no image"}}}
	bare := plan.System{Guest: "bare", Attachment: "vhost-user"}
	costs := []results.Cost{
		count(bare, 64, 1, 12_531, 0.001, ""), count(bare, 64, 3, 12_531, 0.001, ""),
		count(bare, 1500, 1, 0, 0.001, "the ring ran full"), count(bare, 1500, 3, 12_531, 0.001, ""),
		count(lx, 64, 2, 437_000, 0.01, ""), count(lx, 64, 4, 438_500, 0.01, ""),
		count(lx, 1500, 2, 437_000, 0.01, ""), count(lx, 1500, 4, 450_000, 0.01, ""),
	}
	counters := []results.Counters{
		{Trial: plan.Trial{System: lx, Size: 64}, Counts: perf.Counts{Cycles: 250_000, Instructions: 420_400}, Packets: 1000, Full: 3},
		{Trial: plan.Trial{System: lx, Size: 1500}, Error: "no counters"},
	}
	for _, format := range CostFormats() {
		var b bytes.Buffer
		if err := WriteCosts(&b, format, run, costs, counters); err != nil {
			t.Fatal(err)
		}
		golden(t, "costs."+format, b.String())
	}
}

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func TestGolden(t *testing.T) {
	run, trials := sample()
	for _, format := range []string{"table", "markdown", "csv", "json"} {
		golden(t, "sample."+format, written(t, format, Shown{Run: run, Trials: trials}))
	}
}

// written is what Write writes.
func written(t *testing.T, format string, runs ...Shown) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, runs); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return b.String()
}

// The JSON is what other programs rely on: its keys and types, by hand.
func TestJSON(t *testing.T) {
	got := written(t, "json", Shown{Trials: []results.Trial{trial(lx, 64, 1, 1234567.8919, 0, ""), trial(lx, 128, 1, 0, 0, "why")}})
	want := `{"points":[{"system":"linux-dpdk/vhost-user","size":64,"rx_pps":1234567.892,"interval":null,"no_interval":"","limited_by":"unknown","because":"",` +
		`"unsteady":0,"trials":1,"boots":[],"warnings":[]},` +
		`{"system":"linux-dpdk/vhost-user","size":128,"rx_pps":null,"interval":null,"no_interval":"","limited_by":"unknown","because":"",` +
		`"unsteady":0,"trials":0,"boots":[],"warnings":["why"]}],"verdicts":[],"family":""}` + "\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := written(t, "json", Shown{}); !json.Valid([]byte(got)) || got != `{"points":[],"verdicts":[],"family":""}`+"\n" {
		t.Errorf("no trial: %s", got)
	}
}

func TestMpps(t *testing.T) {
	for _, tt := range []struct {
		pps, se float64
		want    string
	}{
		{14_191_420, 1200, "14.191"},    // good to the 1000
		{14_191_420, 12_000, "14.19"},   // to the 10 000
		{14_191_420, 2e6, "14"},         // two digits at least
		{818_558, 40, "0.81856"},        // to the 10
		{818_558, 0.001, "0.8185580"},   // seven at most
		{1_651_603, 0, "1.65"},          // nothing known: three
		{84_600, 0, "0.0846"},           // three of a small one
		{84_600, 900, "0.0846"},         // to the 100
		{146_000_000, 1_000_000, "146"}, // no decimals
		{0, 0, "0.00"},
	} {
		if got := Mpps(tt.pps, tt.se); got != tt.want {
			t.Errorf("Mpps(%v, %v) = %s; want %s", tt.pps, tt.se, got, tt.want)
		}
	}
}

func TestLetters(t *testing.T) {
	for i, want := range map[int]string{0: "a", 25: "z", 26: "aa", 27: "ab", 52: "ba"} {
		if got := letters(i); got != want {
			t.Errorf("letters(%d) = %s; want %s", i, got, want)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	if err := Write(&bytes.Buffer{}, "xml", []Shown{{}}); err == nil {
		t.Error("no error")
	}
}

// The boots are those that gave a rate, not the plan's: `--full` that was
// interrupted in its first block, and in its second.
func TestBootsAreThoseWithARate(t *testing.T) {
	first := []results.Trial{trial(uk, 64, 1, 4e6, 0, ""), trial(lx, 64, 1, 5e6, 0, "")}
	for name, tt := range map[string]struct {
		trials []results.Trial
		want   string
	}{
		"none":            {[]results.Trial{trial(uk, 64, 1, 0, 0, "it ended")}, "No boot gave a rate: no verdict."},
		"the first":       {first, "One boot: no verdict."},
		"a second failed": {append(first[:2:2], trial(uk, 64, 2, 0, 0, "it ended")), "One boot: no verdict."},
		"a second":        {append(first[:2:2], trial(uk, 64, 2, 4e6, 0, "")), "up to 2 boots"},
	} {
		s := Shown{Run: results.Run{Plan: plan.Plan{Trials: 7, Sizes: []int{64}, Systems: []plan.System{uk, lx}}}, Trials: tt.trials}
		if got := written(t, "table", s); !strings.Contains(got, tt.want) || strings.Contains(got, "7 boots") {
			t.Errorf("%s: the table lacks %q:\n%s", name, tt.want, got)
		}
		for _, format := range []string{"svg", "html"} {
			if format == "svg" && name == "none" {
				continue // there is nothing to draw
			}
			if strings.Contains(written(t, format, s), "7 boots") {
				t.Errorf("%s: %s says that there were 7 boots", name, format)
			}
		}
	}
}

// standing makes findings of texts that stand beside a rate.
func standing(texts []string) []audit.Finding {
	var out []audit.Finding
	for _, t := range texts {
		out = append(out, audit.Finding{Kind: audit.Caveat, Text: t})
	}
	return out
}
