//go:build real && soak

package test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/paced"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/run"
	"sweep/internal/systems"
	"sweep/internal/testbed"
	"sweep/internal/verdict"
)

// The same system under two names, twice: the paced sender, whose boots hardly
// differ, and linux-kernel, whose boots do. Whatever is decided between two
// names, it must not be that one is faster; and where boots hardly differ it must
// be decided that they are equivalent, or nothing ever would be.
//
// Pollers share a CPU here, which would leave all of it uncompared: that rule is
// off.
func TestAA(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("SWEEP_SOAK"))
	if err != nil {
		rounds = 1
	}
	build := filepath.Dir(binary(t))
	lx := linux.KernelGuest(build, linux.Senders()[0])
	same := [][2]string{{"paced-a", "paced-b"}, {"kernel-a", "kernel-b"}}
	own := map[string]guest.Guest{
		"paced-a": paced.New(build, 20_000), "paced-b": paced.New(build, 20_000),
		"kernel-a": lx, "kernel-b": lx,
	}
	p := plan.Plan{Sizes: []int{64}, Trials: 7, Duration: time.Second, Wire: "memif", Systems: []plan.System{{Guest: "bare", Attachment: "vhost-user"}}}
	for _, names := range same {
		for _, name := range names {
			p.Systems = append(p.Systems, plan.System{Guest: name, Attachment: "vhost-user"})
		}
	}
	wire, err := testbed.NewWire("memif", os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	compared, decided := 0, 0
	for round := range rounds {
		k := newKit(t)
		t.Setenv("SWEEP_STATE_DIR", filepath.Join(k.dir, "sweep-state"))
		p.Seed = uint64(round + 1)
		dir := filepath.Join(k.dir, "r")
		began := time.Now()
		_, err := run.Run(context.Background(), run.Options{
			Version: "test", Command: []string{"test"}, Wire: wire, Results: dir, Plan: p,
			Catalog: systems.Catalog{Build: build, KernelSender: linux.Senders()[0], MemoryMiB: guest.MemoryMiB, Own: own},
		}, quiet{t})
		took := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		record, trials, _, err := results.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		// What a run may cost beside warm-ups and windows: a quarter of them, and
		// 7 s a boot.
		var watched time.Duration
		for _, trial := range trials {
			watched += trial.WarmUp + trial.Window
		}
		boots := p.Trials * len(p.Systems)
		t.Logf("run %d: took %.1f s; 1.25 times its warm-ups and windows and 7 s a boot are %.1f s", round+1, took.Seconds(),
			1.25*watched.Seconds()+7*float64(boots))
		v := verdict.Judge(record, trials, verdict.Rules{Shared: true})
		for _, point := range v.Points {
			t.Logf("run %d: %s %d B: median %.0f packets/s, %d boots, %+v %s; limited by %s: %s",
				round+1, point.System, point.Size, point.Median, len(point.Rates), point.Interval, point.NoInterval, point.LimitedBy, point.Because)
		}
		for _, c := range v.Comparisons {
			names := [2]string{c.A.Guest, c.B.Guest}
			slices.Sort(names[:])
			if !slices.Contains(same, names) {
				continue
			}
			t.Logf("run %d: %s against %s at %d B: %s: %s", round+1, c.A, c.B, c.Size, c.Outcome, c.Because)
			switch c.Outcome {
			case verdict.Faster, verdict.Slower:
				t.Errorf("run %d: the same system under two names is %s", round+1, c.Outcome)
			case verdict.Equivalent:
				compared++
				decided++
			case verdict.Undecided:
				compared++
			}
		}
		k.replays("r")
		k.nothingLeft()
	}
	t.Logf("of %d points of A/A runs %d were compared, and %d decided", rounds*len(same), compared, decided)
	if decided == 0 {
		t.Error("nothing was decided: the test says nothing")
	}
}
