package progress

import (
	"testing"
	"time"

	"sweep/internal/plan"
)

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                "10 s",
		9 * time.Second:                  "10 s",
		12 * time.Second:                 "15 s",
		55 * time.Second:                 "55 s",
		56 * time.Second:                 "1 min",
		61 * time.Second:                 "1 min 10 s",
		200 * time.Second:                "3 min 20 s",
		590 * time.Second:                "9 min 50 s",
		591 * time.Second:                "10 min",
		33*time.Minute + 1*time.Second:   "34 min",
		59 * time.Minute:                 "59 min",
		59*time.Minute + 1*time.Second:   "1 h 0 min",
		146*time.Minute - 30*time.Second: "2 h 26 min",
		30 * time.Hour:                   "30 h 0 min",
	} {
		if got := roughly(d); got != want {
			t.Errorf("roughly(%v) = %s; want %s", d, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	for in, want := range map[time.Duration]string{ // from Tuesday, 1 December, 14:30
		34 * time.Minute:   "15:04",
		10 * time.Hour:     "Wed 00:30",
		6 * 24 * time.Hour: "7 Dec 14:30",
	} {
		if got := clock(began, in); got != want {
			t.Errorf("in %v it is %s; want %s", in, got, want)
		}
	}
}

func TestAnnounce(t *testing.T) {
	full := plan.Plan{
		Sizes: []int{64, 128, 256, 512, 1024, 1500}, Systems: plan.Known()[:4], Trials: 7, Duration: 5 * time.Second,
	}
	precise := full
	precise.Precision, precise.MaxTrials = 0.01, 30
	exact := precise
	exact.MaxTrials = 7
	// A block is 2 + 10 + 5 + 2 s for the boots and 24 x 6.5 s: 175 s.
	for _, tt := range []struct {
		plan plan.Plan
		want string
	}{
		{full, "7 blocks of 4 systems at 6 sizes: 168 trials in 28 boots, about 21 min, until about 14:50"},
		{precise, "7 to 30 blocks of 4 systems at 6 sizes, until each interval is within 1%: 168 to 720 trials in 28 to 120 boots, about 21 min to 1 h 28 min, until about 15:57 at the latest"},
		{exact, "7 blocks of 4 systems at 6 sizes, until each interval is within 1%: 168 trials in 28 boots, about 21 min, until about 14:50"},
		{plan.Plan{Sizes: []int{64}, Systems: plan.Known()[:1], Trials: 1, Duration: time.Second},
			"1 block of 1 system at 1 size: 1 trial in 1 boot, about 10 s, until about 14:30"},
	} {
		if got := Announce(tt.plan, began); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

// What is announced of a run that is resumed is what is left of it. A block of
// twoByTwo takes 33 s, bare's boot in it 2 and linux-kernel's 5 + 2 x 6.5.
func TestAnnounceResumed(t *testing.T) {
	precise := twoByTwo(7)
	precise.Precision, precise.MaxTrials = 0.01, 10
	for name, tt := range map[string]struct {
		plan   plan.Plan
		blocks int // that are there
		trials int // of the next block
		want   string
	}{
		// 3 blocks of 33 s.
		"between blocks": {twoByTwo(7), 4, 0, "7 blocks of 2 systems at 2 sizes: 16 trials there already, 12 trials in 6 boots, about 1 min 40 s, until about 14:31"},
		// 4 of them without a trial of 6.5 s; its boot is begun anew.
		"within a boot": {twoByTwo(7), 3, 1, "7 blocks of 2 systems at 2 sizes: 13 trials there already, 15 trials in 8 boots, about 2 min 10 s, until about 14:32"},
		// The last boot, bare's: 15 s without a trial.
		"the last trial": {twoByTwo(1), 0, 3, "1 block of 2 systems at 2 sizes: 3 trials there already, 1 trial in 1 boot, about 10 s, until about 14:30"},
		// 2 to 5 blocks.
		"with precision": {precise, 5, 0, "7 to 10 blocks of 2 systems at 2 sizes, until each interval is within 1%: 20 trials there already, 8 to 20 trials in 4 to 10 boots, about 1 min 10 s to 2 min 50 s, until about 14:32 at the latest"},
		// The ninth block ends in any case.
		"far on": {precise, 8, 2, "9 to 10 blocks of 2 systems at 2 sizes, until each interval is within 1%: 34 trials there already, 2 to 6 trials in 1 to 3 boots, about 15 s to 50 s, until about 14:30 at the latest"},
	} {
		s := NewState(tt.plan, began)
		for round := 1; round <= tt.blocks; round++ {
			for _, b := range tt.plan.Block(round) {
				for _, trial := range b.Trials {
					s.Ended(began, ended(trial, 1e6))
				}
			}
			s.Block(began, round, []string{"bare/vhost-user 64 B"})
		}
		left := tt.trials
		for _, b := range tt.plan.Block(tt.blocks + 1) {
			there := min(left, len(b.Trials))
			left -= there
			for _, trial := range b.Trials[:there] {
				s.Ended(began, ended(trial, 1e6))
			}
			if b.Trials = b.Trials[there:]; len(b.Trials) > 0 {
				s.Booting(began, b)
				break
			}
		}
		if got := s.announce(began); got != tt.want {
			t.Errorf("%s: %s\nwant %s", name, got, tt.want)
		}
	}
}
