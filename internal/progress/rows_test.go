package progress

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sweep/internal/plan"
)

// wantRows compares what is drawn in so much room.
func wantRows(t *testing.T, s *State, seconds float64, width, height int, want ...string) {
	t.Helper()
	got := s.Rows(at(seconds), width, height)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%d x %d (-want +got):\n%s", width, height, d)
	}
	for _, row := range got {
		if n := utf8.RuneCountInString(row); n > width {
			t.Errorf("%q has %d columns of %d", row, n, width)
		}
	}
}

// half is a run in the middle: bare has both its points, linux-kernel failed at
// one and is being measured at the other.
func half() *State {
	p := twoByTwo(2)
	s := NewState(p, began)
	s.Booting(at(0), plan.Boot{System: bare, Number: 1, Round: 1, Trials: make([]plan.Trial, 2)})
	s.Ended(at(1), ended(plan.Trial{System: bare, Boot: 1, Size: 64}, 6_412_345))
	s.Ended(at(2), ended(plan.Trial{System: bare, Boot: 1, Size: 1500}, 812_345))
	s.Booting(at(3), plan.Boot{System: kernel, Number: 2, Round: 1, Trials: make([]plan.Trial, 2)})
	s.Ended(at(4), failed(plan.Trial{System: kernel, Boot: 2, Size: 64}, "it ended"))
	s.Measuring(at(5), plan.Trial{System: kernel, Boot: 2, Size: 1500})
	for _, mpps := range []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 4} {
		s.Rate(mpps * 1000)
	}
	return s
}

func TestRows(t *testing.T) {
	s := half()
	const (
		heading = "size       bare  linux-kernel"
		small   = "  64   6.41 (1)      ! failed"
		large   = "1500  0.812 (1)             >"
		legend  = "Mpps over vhost-user, median so far (of so many boots); ! a boot failed"
		current = "linux-kernel/vhost-user 1500 B: 0.00400 Mpps  ▁▁▂▃▄▅▆▇█▄"
	)
	wantRows(t, s, 6, 80, 20, "", heading, small, large, legend, current)
	wantRows(t, s, 6, 80, 6, "", heading, small, large, legend, current)
	// What goes first where there is little room: the blank row, the legend,
	// then sizes that are not being measured, the heading last.
	wantRows(t, s, 6, 80, 5, heading, small, large, legend, current)
	wantRows(t, s, 6, 80, 4, heading, small, large, current)
	wantRows(t, s, 6, 80, 3, heading, large, current)
	wantRows(t, s, 6, 80, 2, current)
	wantRows(t, s, 6, 80, 1, current)
	wantRows(t, s, 6, 80, 0)
	wantRows(t, s, 6, 0, 9)
	// The last rates that have room.
	wantRows(t, s, 6, 50, 1, "linux-kernel/vhost-user 1500 B: 0.00400 Mpps  ▆▇█▄")
	wantRows(t, s, 6, 40, 1, "linux-kernel/vhost-user 1500 B: 0.00400…")
	// The column that is being measured stays; an ellipsis stands for others.
	wantRows(t, s, 6, 24, 4, "size… linux-kernel", "  64      ! failed", "1500             >", "linux-kernel/vhost-user…")
	wantRows(t, s, 6, 1, 4, "…", "…", "…", "…")
}

// What is said of the trial that is under way, from boot to boot.
func TestCurrent(t *testing.T) {
	p := twoByTwo(2)
	s := NewState(p, began)
	b := p.Block(1)[0]
	wantRows(t, s, 0, 80, 1, "between two boots")
	s.Booting(at(0), b)
	wantRows(t, s, 4.9, 80, 1, "linux-kernel/vhost-user comes up, 4 s")
	s.Measuring(at(5), b.Trials[0])
	wantRows(t, s, 6.5, 80, 1, "linux-kernel/vhost-user 64 B: warm-up, 1 s")
	s.Rate(1234567)
	wantRows(t, s, 7, 80, 1, "linux-kernel/vhost-user 64 B: 1.23 Mpps  █")
	s.Ended(at(8), ended(b.Trials[0], 1e6))
	wantRows(t, s, 8, 80, 1, "linux-kernel/vhost-user comes up, 8 s")
	s.Measuring(at(9), b.Trials[1])
	s.Ended(at(10), ended(b.Trials[1], 1e6))
	wantRows(t, s, 11, 80, 1, "linux-kernel/vhost-user goes down")
}

// Where the attachments differ, headings have them.
func TestHeading(t *testing.T) {
	p := twoByTwo(1)
	p.Systems = []plan.System{bare, {Guest: "bare", Attachment: "vhost-net"}}
	p.Precision, p.MaxTrials = 0.005, 3
	s := NewState(p, began)
	s.Block(at(1), 1, []string{"bare/vhost-user 64 B", "bare/vhost-user 1500 B", "bare/vhost-net 64 B"})
	wantRows(t, s, 2, 100, 9,
		"",
		"size  bare/vhost-user  bare/vhost-net",
		"  64                -               -",
		"1500                -               -",
		"Mpps, median so far (of so many boots); 3 of 4 not within 0.5%",
		"between two boots")
}

func TestSparkline(t *testing.T) {
	for _, tt := range []struct {
		rates   []float64
		columns int
		want    string
	}{
		{nil, 5, ""},
		{[]float64{1}, 0, ""},
		{[]float64{1}, -3, ""},
		{[]float64{0, 0}, 5, "▁▁"},
		{[]float64{5, 5, 5}, 5, "███"}, // steady
		{[]float64{100, 99, 88, 87, 51, 50, 49, 13, 12}, 20, "███▇▅▄▄▂▁"},
		{[]float64{9, 1, 2}, 2, "▄█"}, // of those that are shown
		{[]float64{-1, 2}, 2, "▁█"},
	} {
		if got := sparkline(tt.rates, tt.columns); got != tt.want {
			t.Errorf("sparkline(%v, %d) = %s; want %s", tt.rates, tt.columns, got, tt.want)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		widths   []int
		room, at int
		from, to int
	}{
		{nil, 5, 0, 0, 0},
		{ones(6), 6, 3, 0, 6},
		{ones(6), 3, 0, 0, 3},
		{ones(6), 3, 3, 2, 5},
		{ones(6), 3, 5, 3, 6},
		{ones(6), 0, 4, 4, 5},                // that one in any case
		{[]int{10, 10, 20, 10}, 25, 1, 0, 2}, // not the third, but the first
		{[]int{10, 10, 20, 10}, 30, 3, 2, 4},
	} {
		if from, to := window(tt.widths, tt.room, tt.at); from != tt.from || to != tt.to {
			t.Errorf("window(%v, %d, %d) = %d, %d; want %d, %d", tt.widths, tt.room, tt.at, from, to, tt.from, tt.to)
		}
	}
}
