package sample

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"sweep/internal/agent"
)

// at is a reading at so many milliseconds; reading it took 2 ms.
func at(ms int64, packets uint64) Reading {
	t := agent.Time(ms * 1e6)
	return Reading{Before: t - 1e6, After: t + 1e6, Packets: packets}
}

func TestRate(t *testing.T) {
	// 3 000 000 packets in 2.5 s of the readings' middles.
	got, err := Rate([]Reading{at(1000, 500), at(2000, 1_000_500), at(3500, 3_000_500)})
	if err != nil || got != 1_200_000 {
		t.Errorf("Rate = %v, %v; want 1200000", got, err)
	}
	for name, rs := range map[string][]Reading{
		"one reading":          {at(1, 1)},
		"a clock that stands":  {at(5, 1), at(5, 2)},
		"a counter that falls": {at(1, 9), at(2, 3)},
	} {
		if got, err := Rate(rs); err == nil {
			t.Errorf("%s: Rate = %v; want an error", name, got)
		}
	}
}

func TestStandardError(t *testing.T) {
	// Deviation of 2, 4, 4, 4, 5, 5, 7, 9 from their mean 5: sqrt(32/7); over
	// sqrt(8).
	got := StandardError([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if want := math.Sqrt(32.0/7) / math.Sqrt(8); math.Abs(got-want) > 1e-12 {
		t.Errorf("StandardError = %v; want %v", got, want)
	}
	if got := StandardError([]float64{5}); got != 0 {
		t.Errorf("StandardError of one value = %v; want 0", got)
	}
}

type meter struct {
	n    uint64
	fail uint64
}

func (m *meter) Read(context.Context) (Reading, error) {
	m.n++
	if m.n == m.fail {
		return Reading{}, errors.New("gone")
	}
	return Reading{Packets: m.n}, nil
}

func TestWatch(t *testing.T) {
	var each int
	rs, err := Watch(context.Background(), &meter{}, 100*time.Millisecond, 20*time.Millisecond, func(Reading) { each++ })
	// One at once, then about every 20 ms: five more, fewer on a busy machine.
	if err != nil || len(rs) < 2 || len(rs) > 7 || each != len(rs) {
		t.Errorf("Watch = %d readings (%d told), %v", len(rs), each, err)
	}
	rs, err = Watch(context.Background(), &meter{fail: 3}, time.Minute, time.Millisecond, nil)
	if err == nil || len(rs) != 2 {
		t.Errorf("Watch of a meter that fails = %d readings, %v; want the 2 before it failed", len(rs), err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("interrupted"))
	rs, err = Watch(ctx, &meter{}, time.Minute, time.Minute, nil)
	if err == nil || err.Error() != "interrupted" || len(rs) != 1 {
		t.Errorf("Watch on a context that has ended = %d readings, %v", len(rs), err)
	}
}
