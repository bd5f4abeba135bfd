package results

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sweep/internal/audit"
	"sweep/internal/plan"
)

var linuxUser = plan.System{Guest: "linux-dpdk", Attachment: "vhost-user"}

func trial(size, round int, pps float64, failure string, warnings ...string) Trial {
	return Trial{
		Trial:    plan.Trial{System: linuxUser, Boot: round, Round: round, Size: size},
		Started:  time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		Residual: &audit.Residual{Wire: 3},
		RxPps:    pps, Error: failure, Findings: standing(warnings),
	}
}

func create(t *testing.T) *Folder {
	t.Helper()
	f, err := Create(filepath.Join(t.TempDir(), "run"), Run{Kit: "test", Plan: plan.Plan{Trials: 3}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestRoundTrip(t *testing.T) {
	f := create(t)
	want := []Trial{trial(64, 1, 1e6, ""), trial(64, 2, 3e6, "", "w"), trial(1500, 1, 0, "it ended")}
	for _, x := range want {
		if err := f.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	run, got, problems, err := Load(f.Path())
	if err != nil || len(problems) > 0 {
		t.Fatalf("Load: %v, %v", err, problems)
	}
	if run.Kit != "test" {
		t.Errorf("run = %+v", run)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("trials differ (-written +read):\n%s", d)
	}
}

// The published format, to the byte: see fig_19_compare-dpdk's data.
func TestPublishedFormat(t *testing.T) {
	f := create(t)
	for _, x := range []Trial{
		trial(64, 1, 14191420.4, ""), trial(128, 1, 818558, ""), trial(256, 1, 0, "failed"),
		trial(64, 2, 14191422, ""), trial(64, 3, 1, ""),
	} {
		if err := f.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(f.Path(), "linux-dpdk-vhost-user.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "packetsize\trx\n64\t14.191420\n128\t0.818558\n"; string(b) != want {
		t.Errorf("%q; want %q", b, want)
	}
}

func TestPoints(t *testing.T) {
	got := Points([]Trial{
		trial(1500, 1, 9e5, "", "shared"), trial(64, 1, 4e6, "", "shared"), trial(64, 2, 1e6, "", "foreign", "shared"),
		trial(64, 3, 0, "it ended"), trial(64, 4, 2e6, ""),
	})
	want := []Point{
		{System: linuxUser, Size: 64, Trials: 3, RxPps: 2e6, Warnings: []string{"shared", "foreign"}, Errors: []string{"it ended"}},
		{System: linuxUser, Size: 1500, Trials: 1, RxPps: 9e5, Warnings: []string{"shared"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(tt.v); got != tt.want {
			t.Errorf("Median(%v) = %v; want %v", tt.v, got, tt.want)
		}
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	f := create(t)
	if err := f.Append(trial(64, 1, 1, "")); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(f.Path(), Run{}); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("Create over a run: %v", err)
	}
}

// A disk that fills up in the middle of a line costs that line and no other.
func TestFullDisk(t *testing.T) {
	f := create(t)
	if err := f.Append(trial(64, 1, 1, "")); err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = uint64(f.trials.size) + 20
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	err := f.Append(trial(128, 1, 1, ""))
	if e := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); e != nil {
		t.Fatal(e)
	}
	if err == nil || !strings.Contains(err.Error(), syscall.EFBIG.Error()) {
		t.Errorf("Append on a full disk: %v", err)
	}
	if err := f.Append(trial(256, 1, 1, "")); err != nil {
		t.Fatal(err)
	}
	_, trials, problems, err := Load(f.Path())
	if err != nil || len(problems) > 0 || len(trials) != 2 || trials[1].Size != 256 {
		t.Errorf("Load = %d trials, %v, %v", len(trials), problems, err)
	}
}

func TestLoadDamaged(t *testing.T) {
	f := create(t)
	if err := f.Append(trial(64, 1, 1, "")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Path(), trialsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, []byte(`{"system":"linux`)...), 0o644); err != nil {
		t.Fatal(err)
	}
	_, trials, problems, err := Load(f.Path())
	if err != nil || len(trials) != 1 || len(problems) != 1 || !strings.Contains(problems[0], "trials.jsonl:2:") {
		t.Errorf("Load = %d trials, %q, %v", len(trials), problems, err)
	}
	if _, _, _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Errorf("Load of an empty folder: %v", err)
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
