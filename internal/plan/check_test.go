package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	good := Plan{Sizes: []int{64}, Trials: 1, Duration: 5 * time.Second}
	precise := Plan{Sizes: []int{64}, Trials: 7, Duration: 5 * time.Second, Precision: 0.01, MaxTrials: 30}
	for _, tt := range []struct {
		plan Plan
		want []string // a part and how its text begins
	}{
		{good, nil},
		{precise, nil},
		{with(precise, func(p *Plan) { p.MaxTrials = 7 }), nil},
		{with(precise, func(p *Plan) { p.Precision = 0.5 }), nil},
		{Plan{Trials: 0, Duration: time.Millisecond}, []string{"sizes has none", "trials 0:", "duration 1ms:"}},
		{with(good, func(p *Plan) { p.Trials, p.Duration = 1001, 61*time.Minute }), []string{"trials 1001:", "duration 1h1m0s:"}},
		{with(precise, func(p *Plan) { p.MaxTrials = 6 }), []string{"max_trials 6: fewer than the 7 "}},
		{with(precise, func(p *Plan) { p.MaxTrials = 1001 }), []string{"max_trials 1001:"}},
		{with(precise, func(p *Plan) { p.MaxTrials = 0 }), []string{"max_trials 0:"}},
		{with(precise, func(p *Plan) { p.Trials = 6 }), []string{"trials 6: a precision is looked for from 7 blocks on"}},
		{with(precise, func(p *Plan) { p.Precision = 0.51 }), []string{"precision 51%:"}},
		{with(precise, func(p *Plan) { p.Precision = 0.00009 }), []string{"precision 0.009%:"}},
		// All of them at once.
		{Plan{Trials: 2, Precision: 2, MaxTrials: 1}, []string{"sizes", "duration", "precision 200%", "max_trials 1", "trials 2"}},
	} {
		got := tt.plan.Check()
		if len(got) != len(tt.want) {
			t.Errorf("%+v: %q; want %q", tt.plan, got, tt.want)
			continue
		}
		for i, p := range got {
			if text := p.Part + " " + p.Text; !strings.HasPrefix(text, tt.want[i]) {
				t.Errorf("%+v: %q; want %q", tt.plan, text, tt.want[i])
			}
		}
	}
}

func with(p Plan, change func(*Plan)) Plan {
	change(&p)
	return p
}

func TestParsePrecision(t *testing.T) {
	for text, want := range map[string]float64{
		"1%": 0.01, "0.5%": 0.005, " 2 % ": 0.02, "0.01": 0.01, "0.25": 0.25, ".5%": 0.005, "100%": 1,
	} {
		if got, err := ParsePrecision(text); err != nil || got != want {
			t.Errorf("ParsePrecision(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is no share", "%": "is no share", "1%%": "is no share", "-1%": "is no share", "1e-2": "is no share",
		"0x1p-4": "is no share", "inf": "is no share", "NaN": "is no share", "one": "is no share", "1,5%": "is no share",
		"0": "can't be reached", "0%": "can't be reached",
		"1": "write 1%, if", "5": "5 is 500% of the rate",
	} {
		if got, err := ParsePrecision(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePrecision(%q) = %v, %v; want %q", text, got, err, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0.01: "1%", 0.005: "0.5%", 0.07: "7%", 0.0001: "0.01%", 1: "100%"} {
		if got := Percent(share); got != want {
			t.Errorf("Percent(%v) = %s; want %s", share, got, want)
		}
	}
}

// Two blocks of three systems at four sizes of 5 s: besides the windows a boot
// of bare costs 2 s, of linux-kernel 5, of a guest that nobody knows 10, and
// each trial 1.5: 2 x (17 + 12 x 6.5) = 190 s.
func TestExpected(t *testing.T) {
	p := Plan{
		Sizes: []int{64, 128, 256, 512}, Duration: 5 * time.Second,
		Systems: []System{{"bare", "vhost-user"}, {"linux-kernel", "vhost-user"}, {"mine", "vhost-user"}},
	}
	if got, want := p.Expected(2), 190*time.Second; got != want {
		t.Errorf("Expected = %v; want %v", got, want)
	}
}

// However many blocks a precision asks for, each is the one that it would have
// been without.
func TestBlocksGoOn(t *testing.T) {
	p := Plan{Sizes: []int{64, 1500}, Systems: Known()[:3], Trials: 7, Seed: 5}
	longer := with(p, func(p *Plan) { p.Trials, p.MaxTrials, p.Precision = 9, 30, 0.01 })
	if fmt.Sprint(p.Boots()) != fmt.Sprint(longer.Boots()[:21]) {
		t.Error("the first seven blocks differ")
	}
	numbers := []int{}
	for _, b := range p.Block(8) {
		numbers = append(numbers, b.Number)
	}
	if !slices.Equal(numbers, []int{22, 23, 24}) {
		t.Errorf("block 8 has the boots %v", numbers)
	}
	if p.MostBlocks() != 7 || longer.MostBlocks() != 30 {
		t.Errorf("at most %d and %d blocks; want 7 and 30", p.MostBlocks(), longer.MostBlocks())
	}
}
