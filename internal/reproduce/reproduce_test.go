package reproduce

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/published"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew, to be read before they are committed")

var (
	ukNet = plan.System{Guest: "unikraft", Attachment: "vhost-net"}
	lxNet = plan.System{Guest: "linux-dpdk", Attachment: "vhost-net"}
	ukUsr = plan.System{Guest: "unikraft", Attachment: "vhost-user"}
	lxUsr = plan.System{Guest: "linux-dpdk", Attachment: "vhost-user"}
)

// cable is a run that measured the figure's own values, on hardware that can
// have them: seven boots, an interval of 1 % on either side, 10GbE.
func cable() (results.Run, []results.Trial, verdict.Verdict) {
	run := results.Run{
		Kit: "1.0", Accel: "kvm",
		Plan:    plan.Plan{Wire: "10GbE", Trials: 1, Sizes: []int{64, 128, 256, 512, 1024, 1500}, Systems: published.Systems()},
		Images:  map[string]results.Image{"unikraft": {Kernel: "k", KernelSHA256: "aa"}},
		Machine: results.Machine{CPU: "Xeon", CPUs: 8, Kernel: "6.1", OS: "Debian"},
	}
	var trials []results.Trial
	var v verdict.Verdict
	for _, p := range published.Points() {
		trials = append(trials, results.Trial{
			Trial: plan.Trial{System: p.System, Size: p.Size, Boot: 1, Round: 1}, RxPps: p.RxPps, BytesPerPacket: float64(p.Size),
			Ledger: &audit.Ledger{GuestSent: 10, ServerReceived: 10, ServerSent: 9, ServerDropped: 1, ClientReceived: 8, ClientMissed: 1},
		})
		v.Points = append(v.Points, verdict.Point{System: p.System, Size: p.Size, Rates: slices.Repeat([]float64{p.RxPps}, 7), Median: p.RxPps, LimitedBy: verdict.Guest,
			Interval: &stats.Interval{Low: 0.99 * p.RxPps, High: 1.01 * p.RxPps, Confidence: 0.95}})
	}
	return run, trials, v
}

func TestReproduced(t *testing.T) {
	run, trials, v := cable()
	r := Of("x", run, trials, v, Evidence{})
	if n := r.Count(Reproduced); n != 24 {
		t.Errorf("%d points are reproduced by the figure's own values", n)
	}
	// The interval 1.0 to 1.05 Mpps, widened, is 0.97 to 1.0815; half of it is
	// 0.025 Mpps, 2.5 % of a median of 1 Mpps. Half of 1.0 to 1.1 is 5 % of it,
	// and half of 5 to 20 is 60 % of 12.5: they hold much, and outside of them is
	// outside all the same.
	for _, tt := range []struct {
		pps, low, median, high float64
		want                   Outcome
	}{
		{0.9699e6, 1e6, 1e6, 1.05e6, NotReproduced}, {0.9701e6, 1e6, 1e6, 1.05e6, Reproduced}, {1.02e6, 1e6, 1e6, 1.05e6, Reproduced},
		{1.0814e6, 1e6, 1e6, 1.05e6, Reproduced}, {1.0816e6, 1e6, 1e6, 1.05e6, NotReproduced},
		{1.05e6, 1e6, 1e6, 1.1e6, NotComparable}, {0.96e6, 1e6, 1e6, 1.1e6, NotReproduced}, {1.14e6, 1e6, 1e6, 1.1e6, NotReproduced},
		{14.19e6, 5e6, 12.5e6, 20e6, NotComparable}, {14.19e6, 5e6, 5.5e6, 6e6, NotReproduced},
		{1e6, 0.9701e6, 1e6, 1.0299e6, Reproduced}, {1e6, 0.9699e6, 1e6, 1.0301e6, NotComparable}, // 2.99 % and 3.01 %
	} {
		p := published.Point{System: lxNet, Size: 64, RxPps: tt.pps}
		v := verdict.Verdict{Points: []verdict.Point{{System: lxNet, Size: 64, Median: tt.median, Interval: &stats.Interval{Low: tt.low, High: tt.high}}}}
		got := judge(p, run, trials, v)
		if got.Outcome != tt.want || strings.Contains(got.Because[0], "too wide to tell") != (tt.want == NotComparable) {
			t.Errorf("%v against %v to %v: %s, %q; want %s", tt.pps, tt.low, tt.high, got.Outcome, got.Because, tt.want)
		}
	}
}

// What can't have the figure's rates is no failure to reproduce them, and each
// reason is said.
func TestNotComparable(t *testing.T) {
	at := func(r Report, s plan.System, size int) Point {
		return r.Points[slices.IndexFunc(r.Points, func(p Point) bool { return p.System == s && p.Size == size })]
	}
	for name, tt := range map[string]struct {
		change           func(*results.Run, *verdict.Verdict)
		cableP, guestP   Outcome // linux-dpdk: vhost-user at 64, and vhost-net at 64
		cableWhy, netWhy string
	}{
		"a lab's wire": {func(r *results.Run, _ *verdict.Verdict) { r.Plan.Wire = "memif" }, NotComparable, Reproduced, "10GbE cable carries, and the run's wire is none (memif)", ""},
		"40GbE":        {func(r *results.Run, _ *verdict.Verdict) { r.Plan.Wire = "40GbE" }, NotComparable, Reproduced, "(40GbE)", ""},
		"an emulator":  {func(r *results.Run, _ *verdict.Verdict) { r.Accel = "tcg" }, NotComparable, NotComparable, "emulator (TCG)", "emulator (TCG)"},
		"a shared CPU": {func(r *results.Run, _ *verdict.Verdict) { r.Placement.Share = "cpu" }, NotComparable, NotComparable, "shared a CPU", "shared a CPU"},
		"imported":     {func(r *results.Run, _ *verdict.Verdict) { r.Imported = "x" }, NotComparable, NotComparable, "imported", "imported"},
		"one boot": {func(_ *results.Run, v *verdict.Verdict) {
			for i := range v.Points {
				v.Points[i].Interval, v.Points[i].NoInterval = nil, "one boot"
			}
		}, NotComparable, NotComparable, "no interval: one boot", "no interval: one boot"},
	} {
		run, trials, v := cable()
		tt.change(&run, &v)
		r := Of("x", run, trials, v, Evidence{})
		for _, w := range []struct {
			p    Point
			want Outcome
			why  string
		}{{at(r, lxUsr, 64), tt.cableP, tt.cableWhy}, {at(r, lxNet, 64), tt.guestP, tt.netWhy}} {
			if w.p.Outcome != w.want || !strings.Contains(strings.Join(w.p.Because, "; "), w.why) {
				t.Errorf("%s: %s %d: %s, %q; want %s, %q", name, w.p.System, w.p.Size, w.p.Outcome, w.p.Because, w.want, w.why)
			}
		}
		if name == "a lab's wire" && r.Count(NotComparable) != 16 {
			t.Errorf("%d points can't be compared in a lab; want 16", r.Count(NotComparable))
		}
	}

	run, trials, v := cable()
	run.Skipped = []results.Skipped{{System: ukNet, Why: "no /dev/vhost-net"}}
	trials = slices.DeleteFunc(trials, func(x results.Trial) bool { return x.System == ukNet || x.System == lxNet && x.Size == 128 })
	for i := range trials {
		if trials[i].System == lxNet && trials[i].Size == 64 {
			trials[i].RxPps, trials[i].Error = 0, "it ended"
		}
	}
	r := Of("x", run, trials, v, Evidence{})
	for _, w := range []struct {
		p   Point
		why string
	}{{at(r, ukNet, 64), "could not run: no /dev/vhost-net"}, {at(r, lxNet, 64), "no trial gave a rate: it ended"}, {at(r, lxNet, 128), "was not measured"}} {
		if w.p.Outcome != NotComparable || len(w.p.Because) != 1 || !strings.Contains(w.p.Because[0], w.why) {
			t.Errorf("%s %d: %s, %q; want %q", w.p.System, w.p.Size, w.p.Outcome, w.p.Because, w.why)
		}
	}
}

// The claims follow the run's own tests, also where the pair was compared the
// other way round.
func TestClaims(t *testing.T) {
	net := func(size int, o verdict.Outcome, low, high float64) verdict.Comparison {
		return verdict.Comparison{A: lxNet, B: ukNet, Size: size, Outcome: o, Ratio: (low + high) / 2, Interval: &stats.Interval{Low: low, High: high}}
	}
	usr := func(size int, o verdict.Outcome) verdict.Comparison {
		return verdict.Comparison{A: ukUsr, B: lxUsr, Size: size, Outcome: o, Because: "b."}
	}
	all := func(o verdict.Outcome, other ...verdict.Comparison) []verdict.Comparison {
		out := other
		for _, size := range []int{64, 128, 256, 512, 1024, 1500}[len(other):] {
			out = append(out, usr(size, o))
		}
		return out
	}
	for name, tt := range map[string]struct {
		cs           []verdict.Comparison
		matches, net Answer
	}{
		"nothing":              {nil, CantSay, CantSay},
		"equivalent":           {all(verdict.Equivalent), Yes, CantSay},
		"one is slower":        {all(verdict.Equivalent, usr(64, verdict.Slower)), No, CantSay},
		"one is undecided":     {all(verdict.Equivalent, usr(64, verdict.Undecided)), InPart, CantSay},
		"not compared":         {all(verdict.NotCompared), CantSay, CantSay},
		"net, within":          {[]verdict.Comparison{net(64, verdict.Faster, 1.002, 1.012), net(128, verdict.Equivalent, 0.995, 1.003), net(256, verdict.Undecided, 0.99, 1.019), net(512, verdict.Slower, 0.985, 0.995)}, CantSay, Yes},
		"net, beyond":          {[]verdict.Comparison{net(64, verdict.Faster, 1.03, 1.05)}, CantSay, No},
		"net, wide":            {[]verdict.Comparison{net(64, verdict.Undecided, 0.9, 1.1)}, CantSay, CantSay},
		"net, but no test":     {[]verdict.Comparison{net(64, verdict.NotCompared, 0.999, 1.001)}, CantSay, CantSay},
		"net, one of the four": {[]verdict.Comparison{net(64, verdict.Equivalent, 0.999, 1.001)}, CantSay, InPart},
	} {
		got := claims(results.Run{}, verdict.Verdict{Comparisons: tt.cs})
		if got[0].Answer != tt.matches || got[1].Answer != tt.net {
			t.Errorf("%s: %s, %s; want %s, %s\n%q", name, got[0].Answer, got[1].Answer, tt.matches, tt.net, got)
		}
	}
	// 1 / 1.25 is 0.8, and faster the other way round is slower.
	c := find(verdict.Verdict{Comparisons: []verdict.Comparison{{A: lxNet, B: ukNet, Size: 64, Outcome: verdict.Faster, Ratio: 1.25, Interval: &stats.Interval{Low: 1, High: 2}}}}, ukNet, lxNet, 64)
	if c == nil || c.Outcome != verdict.Slower || c.Ratio != 0.8 || c.Interval.Low != 0.5 || c.Interval.High != 1 {
		t.Errorf("turned round: %+v", c)
	}
}

func TestChecklist(t *testing.T) {
	answers := func(r Report) map[string]Answer {
		out := map[string]Answer{}
		for _, b := range r.Badges {
			for _, l := range b.Lines {
				out[l.Asked] = l.Answer
			}
		}
		return out
	}
	run, trials, v := cable()
	good := answers(Of("x", run, trials, v, Evidence{Replayed: true}))
	for _, asked := range []string{
		"every system ran", "every trial of the plan ended with a rate", "the counters of every hop add up, with a residual of 0 packets",
		"the frames that arrived are of the size that was asked for", "the audits found nothing against the rates", "the numbers follow again from the raw readings",
		"each point has enough boots for an interval and a verdict", "the machine is on record", "the figure's points are reproduced", "the record names the kit's version", "the guests' images are named by checksums",
	} {
		if good[asked] != Yes {
			t.Errorf("a good run: %s: %q", asked, good[asked])
		}
	}
	trials[0].Ledger = &audit.Ledger{GuestSent: 10, ServerReceived: 9, ServerSent: 9, ClientReceived: 9}
	trials[1].BytesPerPacket = 124
	trials[2].Findings = []audit.Finding{{Kind: audit.Foreign, Text: "stress used a CPU"}, {Kind: audit.Caveat, Text: "no finding"}}
	trials[3].Error = "it ended"
	v.Points[3].Rates = v.Points[3].Rates[:6]
	run.Kit, run.Machine.CPU, run.Images["mine"] = "1.0-dirty", "", results.Image{Kernel: "k"}
	run.Skipped = []results.Skipped{{System: ukNet, Why: "no"}}
	bad := answers(Of("x", run, trials, v, Evidence{Differ: []string{"64 B: 1.0 became 2.0"}}))
	for asked, want := range map[string]Answer{
		"every system ran": InPart, "every trial of the plan ended with a rate": InPart, "the counters of every hop add up, with a residual of 0 packets": No,
		"the frames that arrived are of the size that was asked for": No, "the audits found nothing against the rates": InPart, "the numbers follow again from the raw readings": No,
		"the machine is on record": No, "the figure's points are reproduced": InPart, "the record names the kit's version": InPart, "the guests' images are named by checksums": No,
		"each point has enough boots for an interval and a verdict": No,
	} {
		if bad[asked] != want {
			t.Errorf("a bad run: %s: %q; want %q", asked, bad[asked], want)
		}
	}
}

// The boots are those of the planned point that has fewest with a rate, however
// many the plan has.
func TestBoots(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*results.Run, *verdict.Verdict)
		answer Answer
		shown  string
	}{
		"seven":          {func(*results.Run, *verdict.Verdict) {}, Yes, "7 or more"},
		"interrupted":    {func(_ *results.Run, v *verdict.Verdict) { v.Points[2].Rates = v.Points[2].Rates[:1] }, No, "unikraft/vhost-user 256 B has 1 with"},
		"never measured": {func(_ *results.Run, v *verdict.Verdict) { v.Points = v.Points[:23] }, No, "linux-dpdk/vhost-net 1500 B has 0 with"},
		"beside the plan": {func(_ *results.Run, v *verdict.Verdict) {
			v.Points = append(v.Points, verdict.Point{System: lxNet, Size: 65})
		}, Yes, "7 or more"},
		"nothing is planned": {func(r *results.Run, _ *verdict.Verdict) { r.Plan.Systems = nil }, CantSay, "no plan"},
	} {
		run, _, v := cable()
		run.Plan.Trials = 7
		tt.change(&run, &v)
		if l := bootsLine(run, v); l.Answer != tt.answer || !strings.Contains(l.Shown, tt.shown) {
			t.Errorf("%s: %s, %q; want %s, %q", name, l.Answer, l.Shown, tt.answer, tt.shown)
		}
	}
}

// A record from elsewhere neither drives the terminal, nor ticks a line of the
// checklist, nor is markup.
func TestRecordIsText(t *testing.T) {
	run, trials, v := cable()
	run.Kit = "1\x1b[2J\u202e\n- [x] all is well ![x](http://192.0.2.1)<b>"
	trials[0].Error = "\u009b1m\n[x] so is this"
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := Write(&out, format, Of("x\x07\ny", run, trials, v, Evidence{})); err != nil {
			t.Fatal(err)
		}
		for _, no := range []string{"\x1b", "\u202e", "\x07", "\u009b", "\n- [x] all", "\n[x] so"} {
			if strings.Contains(out.String(), no) {
				t.Errorf("%s holds %q:\n%s", format, no, out.String())
			}
		}
		if format == "markdown" && (strings.Contains(out.String(), "](") || strings.Contains(out.String(), " <b>") || !strings.Contains(out.String(), `\<b>`)) {
			t.Errorf("markup is left:\n%s", out.String())
		}
	}
}

// Nobody audited what was imported.
func TestImportedIsNotAudited(t *testing.T) {
	run, trials, v := cable()
	run.Imported = "a log"
	for i := range trials {
		trials[i].Ledger, trials[i].BytesPerPacket = nil, 0
	}
	for _, b := range Of("x", run, trials, v, Evidence{}).Badges {
		for _, l := range b.Lines {
			if strings.Contains(l.Asked, "audits") || strings.Contains(l.Asked, "add up") || strings.Contains(l.Asked, "size") {
				if l.Answer != CantSay {
					t.Errorf("%s: %s, %s", l.Asked, l.Answer, l.Shown)
				}
			}
		}
	}
}

func TestGolden(t *testing.T) {
	run, trials, v := cable()
	// A lab with KVM: vhost-net alone can be held against the figure; one of
	// its points is below, one has no rate.
	run.Plan.Wire = "memif"
	for i := range v.Points {
		if p := &v.Points[i]; p.System == ukNet && p.Size == 64 {
			p.Interval = &stats.Interval{Low: 1.5e6, High: 1.52e6, Confidence: 0.95}
			p.LimitedBy = verdict.Forwarder
		}
	}
	for i := range trials {
		if t := &trials[i]; t.System == lxNet && t.Size == 128 {
			t.RxPps, t.Error = 0, "guest: its kernel panicked"
		}
	}
	for i := range v.Points {
		switch p := &v.Points[i]; {
		case p.System == lxNet && p.Size == 128:
			p.Rates = nil
		case p.System == lxNet && p.Size == 256: // too wide to tell
			p.Interval = &stats.Interval{Low: 1.4e6, High: 1.6e6, Confidence: 0.95}
		}
	}
	v.Comparisons = []verdict.Comparison{
		{A: ukNet, B: lxNet, Size: 64, Outcome: verdict.Slower, Ratio: 0.915, Interval: &stats.Interval{Low: 0.91, High: 0.92}},
		{A: ukUsr, B: lxUsr, Size: 64, Outcome: verdict.NotCompared, Because: "both are limited by the wire"},
	}
	r := Of("results/x", run, trials, v, Evidence{})
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := Write(&out, format, r); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "lab."+format)
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
		// Nothing but a verdict says so.
		if strings.Contains(out.String(), "faster") {
			t.Errorf("%s says faster", format)
		}
	}
	if err := Write(&bytes.Buffer{}, "xml", r); err == nil {
		t.Error("xml is taken for a format")
	}
}
