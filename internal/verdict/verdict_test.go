package verdict

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/testbed"
)

var (
	unikraft = plan.System{Guest: "unikraft", Attachment: "vhost-user"}
	linux    = plan.System{Guest: "linux-dpdk", Attachment: "vhost-user"}
	kernel   = plan.System{Guest: "linux-kernel", Attachment: "vhost-user"}
	// kernelNet is on another attachment.
	kernelNet = plan.System{Guest: "linux-kernel", Attachment: "vhost-net"}
	ceiling   = plan.System{Guest: "bare", Attachment: "vhost-user"}
)

// rates are a trial a round, in Mpps.
func rates(s plan.System, size int, mpps ...float64) []results.Trial {
	var out []results.Trial
	for i, r := range mpps {
		// A boot has a number of its own in the run, the round is the block.
		out = append(out, results.Trial{
			Trial: plan.Trial{System: s, Boot: 10*i + len(s.Guest), Round: i + 1, Size: size},
			RxPps: r * 1e6,
		})
	}
	return out
}

func with(trials []results.Trial, l audit.Ledger) []results.Trial {
	trials = slices.Clone(trials)
	for i := range trials {
		trials[i].Ledger = &l
	}
	return trials
}

func failed(s plan.System, size, round int, kind audit.Kind) results.Trial {
	return results.Trial{
		Trial: plan.Trial{System: s, Boot: 1000 + round, Round: round, Size: size}, Error: "it was no rate",
		Findings: []audit.Finding{{Kind: kind, Text: "it was no rate", Void: true}},
	}
}

var run = results.Run{Plan: plan.Plan{Systems: []plan.System{linux, unikraft, ceiling}}}

func TestPoints(t *testing.T) {
	trials := slices.Concat(
		rates(kernel, 64, 0.1), // not in the plan: behind
		rates(unikraft, 1500, 3, 1, 2),
		rates(unikraft, 64, 7, 1, 5, 2, 6, 3, 4),
		rates(ceiling, 64, 9, 9, 9),
		rates(linux, 64, 1, 2),
		[]results.Trial{failed(linux, 64, 3, audit.Unsteady), failed(linux, 64, 4, audit.Lost), failed(linux, 128, 1, audit.Refused)},
	)
	v := Judge(run, trials, Rules{LineRate: 10e9})
	var got []string
	for _, p := range v.Points {
		got = append(got, p.System.String()+" "+string(rune('0'+len(p.Rates))))
	}
	want := []string{"linux-dpdk/vhost-user 2", "linux-dpdk/vhost-user 0", "unikraft/vhost-user 7", "unikraft/vhost-user 3", "bare/vhost-user 3", "linux-kernel/vhost-user 1"}
	if !slices.Equal(got, want) {
		t.Fatalf("points %q; want %q", got, want)
	}
	p := v.Points[2]
	if !slices.Equal(p.Rates, []float64{7e6, 1e6, 5e6, 2e6, 6e6, 3e6, 4e6}) || p.Median != 4e6 {
		t.Errorf("rates %v, median %v", p.Rates, p.Median)
	}
	// By hand: see TestMedianInterval of package stats.
	if i := p.Interval; i == nil || math.Abs(i.Low-1.7333333e6) > 1 || math.Abs(i.High-6.2666667e6) > 1 || i.Confidence != 0.95 {
		t.Errorf("interval %+v", i)
	}
	// 10e9 / 8 / 88 and bare's.
	if math.Abs(p.LineRate-14204545) > 1 || p.Ceiling != 9e6 || v.Points[4].Ceiling != 0 || v.Points[3].Ceiling != 0 {
		t.Errorf("line rate %v, ceiling %v; bare's %v, where bare is missing %v", p.LineRate, p.Ceiling, v.Points[4].Ceiling, v.Points[3].Ceiling)
	}
	for i, want := range []string{"2 values: ", "no trial gave a rate", "", "3 values: ", "3 values: ", "one boot: no interval"} {
		if why := v.Points[i].NoInterval; !strings.HasPrefix(why, want) || (want == "") != (why == "") {
			t.Errorf("%s: no interval because %q; want %q", got[i], why, want)
		}
	}
	if v.Points[0].Unsteady != 1 {
		t.Errorf("unsteady: %d", v.Points[0].Unsteady)
	}
	if v.Points[1].LimitedBy != Unknown || v.Points[1].Because != "no trial gave a rate" {
		t.Errorf("without a rate: %s: %s", v.Points[1].LimitedBy, v.Points[1].Because)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
}

// A boot gives one value however many lines the record has of it.
func TestOneValueABoot(t *testing.T) {
	trials := rates(unikraft, 64, 1, 2)
	v := Judge(run, append(trials, trials[1], trials[1]), Rules{})
	if got := v.Points[0].Rates; !slices.Equal(got, []float64{1e6, 2e6}) {
		t.Errorf("rates %v", got)
	}
}

func TestModesDiffer(t *testing.T) {
	v := Judge(run, rates(unikraft, 64, 0.83, 0.83, 1.86, 0.82, 0.84, 0.83, 1.87), Rules{})
	p := v.Points[0]
	if p.Interval != nil || len(p.Modes) != 2 || p.NoInterval != "modes differ: no interval: 0.83 Mpps in 5 boots, 1.865 Mpps in 2 boots" {
		t.Errorf("%+v: %s", p.Modes, p.NoInterval)
	}
	if p.Narrow(1) {
		t.Error("a point with two modes is narrow")
	}
}

// A run that stops when it is narrow has its intervals worked out otherwise:
// see TestNarrow of package stats.
func TestPrecision(t *testing.T) {
	precise := run
	precise.Plan.Precision = 0.025
	trials := rates(unikraft, 64, 97, 98, 99, 100, 101, 102, 103)
	p := Judge(precise, trials, Rules{}).Points[0]
	if math.Abs(p.Interval.Low-97.536842e6) > 1 || p.Interval.Confidence != 0.95 {
		t.Errorf("interval %+v", p.Interval)
	}
	if !p.Narrow(0.025) || p.Narrow(0.024) {
		t.Error("half of 4.93 % is not between 2.4 % and 2.5 %")
	}
	if (Point{Rates: p.Rates[:6]}).Narrow(1) {
		t.Error("six boots are enough")
	}
}

func TestLimits(t *testing.T) {
	clean := audit.Ledger{GuestSent: 1e6, ServerReceived: 1e6, ServerSent: 1e6, ClientReceived: 1e6}
	ledger := func(change func(*audit.Ledger)) audit.Ledger {
		l := clean
		change(&l)
		return l
	}
	steady := []float64{10, 10.01, 9.99, 10.02, 9.98, 10.01, 9.99}
	tenth := []float64{1, 1.001, 0.999, 1.002, 0.998, 1.001, 0.999}
	for _, tt := range []struct {
		name    string
		trials  []results.Trial
		line    float64
		want    Limiter
		because []string
	}{
		{"at line rate", rates(unikraft, 64, 14.19142), 10e9, Wire, []string{"in 1 boot, 99.9 % of line rate"}},
		// 96.99 % and 97.01 % of 14.204545 Mpps.
		{"at 96.99 % of line rate", slices.Concat(rates(unikraft, 64, 13.7770), rates(ceiling, 64, 20)), 10e9, Guest, []string{"68.9 % of bare's"}},
		{"at 97.01 % of line rate", rates(unikraft, 64, 13.7798), 10e9, Wire, []string{"97.0 % of line rate"}},
		// The median is at 95 %; the interval ends at 14.1 - 0.7333 * 0.2, beyond
		// 97 %.
		{"line rate in the interval", rates(unikraft, 64, 13.1, 13.2, 13.3, 13.5, 13.6, 13.9, 14.1), 10e9, Wire, []string{"92.7 % to 98.2 % of line rate"}},
		{"no line", rates(unikraft, 64, 14.2), 0, Unknown, []string{"bare was not measured in the same blocks"}},
		{"drops on the wire", with(rates(unikraft, 64, 1), ledger(func(l *audit.Ledger) { l.ServerDropped, l.ServerSent = 1100, 998900 })), 0, Wire, []string{"dropped 0.11 % of what it received"}},
		{"few drops on the wire", slices.Concat(with(rates(unikraft, 64, 1), ledger(func(l *audit.Ledger) { l.ServerDropped = 900 })), rates(ceiling, 64, 2)), 0, Guest, []string{"50.0 % of bare's rate in the same blocks"}},
		{"the client misses", with(rates(unikraft, 64, 1), ledger(func(l *audit.Ledger) { l.ClientMissed, l.ClientNombuf, l.ClientErrors = 500, 300, 400 })), 0, Client, []string{"lost 0.12 %", "500 missed, 300 without a buffer, 400 errors"}},
		{"the ring is full", with(rates(unikraft, 64, 1), ledger(func(l *audit.Ledger) { l.GuestDropped = 40_000 })), 0, Forwarder, []string{"ring full: 4 % as often"}},
		{"full more often than not", with(rates(unikraft, 64, 1), ledger(func(l *audit.Ledger) { l.GuestDropped = 2_500_000 })), 0, Forwarder, []string{"250 % as often"}},
		{"the ring is full at times", slices.Concat(with(rates(unikraft, 64, 1), ledger(func(l *audit.Ledger) { l.GuestDropped = 29_000 })), rates(ceiling, 64, 2)), 0, Guest, nil},
		{"as fast as bare", slices.Concat(rates(unikraft, 64, steady...), rates(ceiling, 64, 10, 10, 10, 10, 10, 10, 10)), 0, Forwarder, []string{"99.9 % to 100.1 % of bare's rate in the same blocks"}},
		{"a tenth of bare", slices.Concat(rates(unikraft, 64, tenth...), rates(ceiling, 64, steady...)), 0, Guest, []string{"% of bare's rate in the same blocks, and nothing on the way was at its limit"}},
		// The machine is twice as fast in every other block: block by block
		// the guest is at 98 % of bare.
		{"block by block", slices.Concat(rates(unikraft, 64, 0.98, 1.96, 0.98, 1.96), rates(ceiling, 64, 1, 2, 1, 2)), 0, Forwarder, []string{"in 4 boots, 98.0 % of bare's"}},
		{"other blocks", slices.Concat(rates(unikraft, 64, 1), rates(ceiling, 64, 2, 2)[1:]), 0, Unknown, []string{"bare was not measured in the same blocks"}},
		{"bare of another attachment", slices.Concat(rates(unikraft, 64, 1), rates(plan.System{Guest: "bare", Attachment: "vhost-net"}, 64, 2)), 0, Unknown, nil},
		{"bare of the same attachment", slices.Concat(rates(kernelNet, 64, 1), rates(plan.System{Guest: "bare", Attachment: "vhost-net"}, 64, 2)), 0, Guest, []string{"50.0 % of bare's"}},
		{"bare of another size", slices.Concat(rates(unikraft, 64, 1), rates(ceiling, 128, 2)), 0, Unknown, nil},
		{"bare", rates(ceiling, 64, 2), 0, Forwarder, []string{"it is the ceiling"}},
		{"bare at line rate", rates(ceiling, 64, 14.2), 10e9, Wire, nil},
	} {
		p := Judge(run, tt.trials, Rules{LineRate: tt.line}).Points[0]
		if p.LimitedBy != tt.want {
			t.Errorf("%s: limited by the %s (%s); want %s", tt.name, p.LimitedBy, p.Because, tt.want)
		}
		for _, w := range tt.because {
			if !strings.Contains(p.Because, w) {
				t.Errorf("%s: %q; want %q in it", tt.name, p.Because, w)
			}
		}
	}
}

// Seven rates around 1 that scatter by 1 %, and seven others.
var (
	noisy = []float64{1.002, 0.991, 1.013, 0.998, 1.007, 0.985, 1.009}
	other = []float64{0.996, 1.011, 1.004, 0.987, 1.001, 0.993, 1.015}
)

func times(f float64, v []float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = f * v[i]
	}
	return out
}

// fast is bare at ten times what the guests do.
func fast(size int) []results.Trial {
	return rates(ceiling, size, 10, 10, 10, 10, 10, 10, 10)
}

func TestComparisons(t *testing.T) {
	quiet := []float64{1, 1.0004, 0.9996, 1.0002, 0.9998, 1.0006, 0.9994}
	one := func(a, b []float64) []results.Trial {
		return slices.Concat(rates(linux, 64, a...), rates(unikraft, 64, b...), fast(64))
	}
	for _, tt := range []struct {
		name   string
		trials []results.Trial
		run    results.Run
		want   Outcome
		words  []string
	}{
		{"faster", one(times(1.05, noisy), other), run, Faster, []string{"times the rate of unikraft/vhost-user", "p = 0.00058 from 7 and 7 boots"}},
		{"slower", one(noisy, times(1.05, other)), run, Slower, []string{"p = 0.00058"}},
		{"equivalent", one(quiet, quiet), run, Equivalent, []string{"equivalent within 1 %: p = 0.00029"}},
		{"equivalent although different", one(times(1.005, quiet), quiet), run, Equivalent, []string{"1.005 times", "they do differ (p = 0.00058), by less than that"}},
		{"undecided", one(noisy, other), run, Undecided, []string{"neither a difference (p = ", "nor equivalence"}},
		{"five boots decide", one(times(1.1, noisy[:5]), other[:5]), run, Faster, []string{"p = 0.0079 from 5 and 5 boots"}},
		{"four do not", one(times(1.1, noisy[:4]), other), run, NotCompared, []string{"4 and 7 boots: a verdict takes 5 of each"}},
		{"one boot", one(noisy[:1], other[:1]), run, NotCompared, []string{"one boot: no verdict"}},
		{"no rate", slices.Concat([]results.Trial{failed(linux, 64, 1, audit.Lost)}, rates(unikraft, 64, other...), fast(64)), run, NotCompared, []string{"linux-dpdk/vhost-user gave no rate"}},
		{"unsteady", slices.Concat(one(times(1.05, noisy), other), []results.Trial{failed(unikraft, 64, 8, audit.Unsteady)}), run, Faster, []string{"1 unsteady trial of unikraft/vhost-user left out"}},
		{"modes", one([]float64{5, 5.01, 4.99, 5, 2, 2.01, 5.02}, other), run, Faster, []string{"the modes of linux-dpdk/vhost-user differ: 2.005 Mpps in 2 boots, 5 Mpps in 5 boots"}},
		{"without bare", slices.Concat(rates(linux, 64, noisy...), rates(unikraft, 64, other...)), run, NotCompared,
			[]string{"what limits linux-dpdk/vhost-user is unknown: bare was not measured in the same blocks"}},
		{"at the ceiling", one(times(9.9, noisy), other), run, NotCompared, []string{"linux-dpdk/vhost-user is limited by the forwarder, not by the guest"}},
		{"at the ceiling, the other", one(noisy, times(9.9, other)), run, NotCompared, []string{"unikraft/vhost-user is limited by the forwarder"}},
		{"shared CPUs", one(times(1.05, noisy), other), results.Run{Plan: run.Plan, Placement: testbed.Placement{Share: "cpu"}}, NotCompared, []string{"pollers shared a CPU"}},
		{"shared cores", one(times(1.05, noisy), other), results.Run{Plan: run.Plan, Placement: testbed.Placement{Share: "core"}}, Faster, nil},
	} {
		v := Judge(tt.run, tt.trials, Rules{})
		if len(v.Comparisons) != 1 {
			t.Errorf("%s: %d comparisons", tt.name, len(v.Comparisons))
			continue
		}
		c := v.Comparisons[0]
		if c.A != linux || c.B != unikraft || c.Size != 64 || c.Outcome != tt.want {
			t.Errorf("%s: %+v; want %s", tt.name, c, tt.want)
		}
		for _, w := range tt.words {
			if !strings.Contains(c.Because, w) {
				t.Errorf("%s: %q; want %q in it", tt.name, c.Because, w)
			}
		}
		if modal := tt.name == "modes"; c.Outcome != NotCompared && (c.Interval == nil) != modal {
			t.Errorf("%s: interval %+v", tt.name, c.Interval)
		}
	}
	v := Judge(results.Run{Plan: run.Plan, Placement: testbed.Placement{Share: "cpu"}}, one(times(1.05, noisy), other), Rules{Shared: true})
	if v.Comparisons[0].Outcome != Faster {
		t.Errorf("shared, with the rule off: %+v", v.Comparisons[0])
	}
}

// What stands alone does not stand the correction over two. U is 2 + 3 + 3 of 49,
// for which tables have p = 2 * 65/3432 = 0.0379.
func TestFamily(t *testing.T) {
	a := []float64{1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07}
	b := []float64{1.001, 1.002, 1.003, 1.004, 1.021, 1.031, 1.032}
	v := Judge(run, slices.Concat(rates(linux, 64, a...), rates(unikraft, 64, b...), fast(64)), Rules{})
	c := v.Comparisons[0]
	if c.Outcome != Faster || math.Abs(c.P-0.0379) > 0.0001 || v.Family != "one comparison, nothing to correct: linux-dpdk/vhost-user with unikraft/vhost-user at 64 B" {
		t.Errorf("alone: %s, p = %v, %s", c.Outcome, c.P, v.Family)
	}
	v = Judge(run, slices.Concat(
		rates(linux, 64, a...), rates(unikraft, 64, b...), fast(64),
		rates(linux, 128, noisy...), rates(unikraft, 128, other...), fast(128),
		rates(linux, 1500, noisy...), rates(unikraft, 1500, other...), // without bare: not of the family
	), Rules{})
	c = v.Comparisons[0]
	if c.Outcome != Undecided || math.Abs(c.P-2*0.0379) > 0.0002 {
		t.Errorf("of two: %s, p = %v", c.Outcome, c.P)
	}
	if v.Comparisons[2].Outcome != NotCompared || v.Comparisons[2].P != 0 {
		t.Errorf("without bare: %+v", v.Comparisons[2])
	}
	if want := "Holm over 2 comparisons: linux-dpdk/vhost-user with unikraft/vhost-user at 64, 128 B"; v.Family != want {
		t.Errorf("family %q; want %q", v.Family, want)
	}
	// So is equivalence: 1 in 3432, twice.
	quiet := []float64{1, 1.0004, 0.9996, 1.0002, 0.9998, 1.0006, 0.9994}
	v = Judge(run, slices.Concat(
		rates(linux, 64, quiet...), rates(unikraft, 64, quiet...), fast(64),
		rates(linux, 128, noisy...), rates(unikraft, 128, other...), fast(128),
	), Rules{})
	if c := v.Comparisons[0]; c.Outcome != Equivalent || math.Abs(c.PEquivalent-2./3432) > 1e-9 {
		t.Errorf("equivalent, of two: %s, p = %v", c.Outcome, c.PEquivalent)
	}
	// Three systems are three pairs; bare is in none.
	v = Judge(run, slices.Concat(rates(linux, 64, 1), rates(unikraft, 64, 1), rates(kernel, 64, 1), fast(64)), Rules{})
	if len(v.Comparisons) != 3 || v.Family != "nothing was compared" {
		t.Errorf("%d comparisons, %q", len(v.Comparisons), v.Family)
	}
}

func TestBetween(t *testing.T) {
	first := Measured{run, slices.Concat(rates(linux, 64, times(1.05, noisy)...), rates(unikraft, 64, noisy...), fast(64), rates(linux, 128, noisy...), fast(128))}
	second := Measured{run, slices.Concat(rates(linux, 64, other...), fast(64), rates(kernel, 64, 1), rates(linux, 128, noisy[:4]...), fast(128))}
	v := Between(first, second, Rules{})
	if len(v.Points) != 0 || len(v.Comparisons) != 4 {
		t.Fatalf("%d points, %d comparisons", len(v.Points), len(v.Comparisons))
	}
	c := v.Comparisons[0]
	if c.A != linux || c.B != linux || c.Size != 64 || c.Outcome != Faster || math.Abs(c.Ratio-1.05) > 0.01 {
		t.Errorf("%+v", c)
	}
	for _, w := range []string{"times the rate of the second run", "the two runs were not interleaved"} {
		if !strings.Contains(c.Because, w) {
			t.Errorf("%q; want %q in it", c.Because, w)
		}
	}
	if c := v.Comparisons[1]; c.Size != 128 || c.Outcome != NotCompared || c.Because != "7 and 4 boots: a verdict takes 5 of each" {
		t.Errorf("%+v", c)
	}
	// bare is no guest; what it changed by is told.
	if c := v.Comparisons[2]; c.A != ceiling || c.Outcome != NotCompared || c.Ratio != 1 || c.Interval == nil {
		t.Errorf("%+v", c)
	}
	if v.Family != "one comparison, nothing to correct: linux-dpdk/vhost-user at 64 B" {
		t.Errorf("family %q", v.Family)
	}
	one := second
	one.Run.Placement.Share = "cpu"
	if c := Between(first, one, Rules{}).Comparisons[0]; c.Outcome != NotCompared {
		t.Errorf("one of two on shared CPUs: %+v", c)
	}
}
