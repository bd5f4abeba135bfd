package progress

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"sweep/internal/plan"
	"sweep/internal/run"
)

// glass is a terminal's glass with what scrolled off it: as much of a terminal
// as the view may use, which is lines, and moving the cursor up and erasing
// from there.
type glass struct {
	mu       sync.Mutex
	rows     [][]rune // all that was ever on it
	cols     int
	height   int
	x, y     int // of the cursor, from the first of all rows
	strange  []string
	received []byte
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`)

func (g *glass) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.received = append(g.received, b...)
	for text := string(b); text != ""; {
		if m := sequence.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				// No higher than the glass.
				g.y = max(g.y-n, len(g.rows)-g.height, 0)
			case "J":
				if top := max(len(g.rows)-g.height, 0); g.x == 0 && g.y == top {
					// As tmux has it: all of a glass that is erased is history.
					g.y = len(g.rows)
					g.at()
					break
				}
				g.rows = g.rows[:g.y+1]
				g.rows[g.y] = g.rows[g.y][:min(g.x, len(g.rows[g.y]))]
			default:
				g.strange = append(g.strange, m[0])
			}
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch {
		case r == '\r':
			g.x = 0
		case r == '\n':
			g.y++
		case r < ' ':
			g.strange = append(g.strange, fmt.Sprintf("%q", r))
		default:
			if g.x == g.cols { // the next line, by itself
				g.x = 0
				g.y++
			}
			g.at()
			row := append(g.rows[g.y], slices.Repeat([]rune{' '}, max(0, g.x+1-len(g.rows[g.y])))...)
			row[g.x] = r
			g.rows[g.y] = row
			g.x++
		}
		g.at()
	}
	return len(b), nil
}

func (g *glass) at() {
	for len(g.rows) <= g.y {
		g.rows = append(g.rows, nil)
	}
}

// was is whether the terminal was ever sent this.
func (g *glass) was(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return bytes.Contains(g.received, []byte(text))
}

// text is what stands on it and above it.
func (g *glass) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for _, row := range g.rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// pair is a screen on a real pseudo-terminal and the glass that shows it.
type pair struct {
	t        *testing.T
	screen   *Screen
	keyboard *os.File
	terminal *os.File
	glass    *glass
	clock    *ticking
	shown    chan struct{} // closed when all was read
}

func newPair(t *testing.T, cols, rows int) *pair {
	t.Helper()
	t.Setenv("TERM", "xterm")
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, keyboard: master, terminal: terminal, glass: &glass{}, clock: &ticking{began}, shown: make(chan struct{})}
	p.resize(cols, rows)
	go func() {
		defer close(p.shown)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			p.glass.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		terminal.Close()
		<-p.shown
		master.Close()
	})
	p.screen = &Screen{out: terminal, now: func() time.Time { return began }}
	return p
}

func (p *pair) resize(cols, rows int) {
	p.t.Helper()
	if err := pty.Setsize(p.terminal, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		p.t.Fatal(err)
	}
	p.glass.mu.Lock()
	defer p.glass.mu.Unlock()
	p.glass.cols, p.glass.height = cols, rows
}

// begin begins a run that ends with the test, if not before.
func (p *pair) begin(of plan.Plan) (prog run.Progress, done func()) {
	prog, end := p.screen.Begin(of, false)
	done = sync.OnceFunc(end)
	p.t.Cleanup(done)
	return prog, done
}

// The bar takes what room the words beside it leave.
const bar = `\[[=>-]*\]`

// waitFor waits until the glass shows what the pattern is, in lines.
func (p *pair) waitFor(lines ...string) {
	p.t.Helper()
	p.match("^" + strings.Join(lines, "\n") + "\n$")
}

// settles waits until the glass ends with these lines, and then sees that it
// stays as it is while it is drawn again.
func (p *pair) settles(lines ...string) {
	p.t.Helper()
	p.match("(^|\n)" + strings.Join(lines, "\n") + "\n$")
	before := p.glass.text()
	time.Sleep(3 * refresh)
	if after := p.glass.text(); after != before {
		p.t.Errorf("on the glass was\n%s\nand is\n%s", before, after)
	}
}

func (p *pair) match(pattern string) {
	p.t.Helper()
	want := regexp.MustCompile(pattern)
	for range 500 {
		if want.MatchString(p.glass.text()) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Fatalf("on the glass is\n%s\nwant\n%s", p.glass.text(), pattern)
}

// A run on a terminal of 80 columns: the table fills up, the lines of trials
// that have ended stand above it and are all that stays of it.
func TestView(t *testing.T) {
	p := newPair(t, 80, 24)
	before, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	q := regexp.QuoteMeta
	const announced = "sweep: 2 blocks of 2 systems at 2 sizes: 8 trials in 4 boots, about 1 min 10 s,\nuntil about 14:31"
	prog, done := p.begin(twoByTwo(2))
	b := twoByTwo(2).Block(1)[0]
	prog.Booting(b)
	p.waitFor(q(announced), "",
		"size  bare  linux-kernel",
		"  64     -             -",
		"1500     -             -",
		q("Mpps over vhost-user, median so far (of so many boots)"),
		"linux-kernel/vhost-user comes up, 0 s",
		"block 1 of 2 "+bar+" 0/8 about 1 min 10 s left, until 14:31")
	prog.Measuring(b.Trials[0])
	prog.Rate(b.Trials[0], 10_000)
	prog.Rate(b.Trials[0], 20_000)
	p.waitFor(q(announced), "",
		"size  bare  linux-kernel",
		"  64     -             >",
		"1500     -             -",
		q("Mpps over vhost-user, median so far (of so many boots)"),
		q("linux-kernel/vhost-user 64 B: 0.0200 Mpps  ▄█"),
		"block 1 of 2 "+bar+" 0/8 about 1 min 10 s left, until 14:31")
	// What is typed, the terminal echoes: the next drawing takes it away.
	if _, err := p.keyboard.WriteString("typed"); err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if p.glass.was("typed") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	prog.Ended(ended(b.Trials[0], 15_000))
	prog.Measuring(b.Trials[1])
	fmt.Fprintln(p.screen, "sweep: said in between")
	prog.Ended(failed(b.Trials[1], "it ended"))
	kept := []string{
		q(announced),
		q("  linux-kernel/vhost-user 64 B: 0.0150 Mpps"),
		"sweep: said in between",
		"  linux-kernel/vhost-user 1500 B: failed: it ended",
	}
	// Trials that take no time: six more cost their boots, 2 + 5 + 2 s, and
	// what is left of this one's 5.
	p.waitFor(append(kept, "",
		"size  bare  linux-kernel",
		q("  64     -    0.0150 (1)"),
		"1500     -      ! failed",
		q("Mpps over vhost-user, median so far (of so many boots); ! a boot failed"),
		"linux-kernel/vhost-user goes down",
		"block 1 of 2 "+bar+" 2/8 about 15 s left, until 14:30")...)
	done()
	p.waitFor(append(kept, "sweep: 2 trials in 1 boot took 0s")...)

	after, err := unix.IoctlGetTermios(int(p.terminal.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal's modes were %+v and are %+v, %v", before, after, err)
	}
	if p.glass.strange != nil {
		t.Errorf("the terminal was sent %q", p.glass.strange)
	}
}

// On a small terminal nothing wraps and nothing scrolls that shouldn't, also
// when it becomes small in the middle of a run.
func TestViewFits(t *testing.T) {
	p := newPair(t, 100, 30)
	two := twoByTwo(2)
	prog, done := p.begin(two)
	b := two.Block(1)[0]
	prog.Booting(b)
	prog.Measuring(b.Trials[0])
	prog.Rate(b.Trials[0], 10_000)
	const announced = "sweep: 2 blocks of 2 systems at 2 sizes: 8 trials in 4 boots, about 1 min 10 s, until about 14:31"
	p.waitFor(announced, "",
		"size  bare  linux-kernel",
		"  64     -             >",
		"1500     -             -",
		".*", "linux-kernel/vhost-user 64 B: 0.0100 Mpps  █",
		"block 1 of 2 "+bar+" 0/8 about 1 min 10 s left, until 14:31")

	// Low: three of the six lines are for others. What was above has scrolled
	// off the glass, where nothing can take it back.
	p.resize(100, 6)
	p.settles("size  bare  linux-kernel",
		"  64     -             >",
		"linux-kernel/vhost-user 64 B: 0.0100 Mpps  █",
		"block 1 of 2 "+bar+" 0/8 about 1 min 10 s left, until 14:31")
	// Low and narrow.
	p.resize(20, 4)
	p.settles("linux-kernel/vhost-…",
		"block 1 of 2  0/8 a…")
	var kept []string
	for i := range 20 {
		kept = append(kept, fmt.Sprint("line ", i))
		fmt.Fprintln(p.screen, kept[i])
	}
	done()
	p.settles(append(kept, "sweep: 0 trials in 1", " boot took 0s")...)
	if !strings.HasPrefix(p.glass.text(), announced+"\n") {
		t.Errorf("the first line was lost:\n%s", p.glass.text())
	}
}

// Whatever is written around the end of the view is there afterwards, once and
// in its order.
func TestNothingIsLost(t *testing.T) {
	for range 20 {
		p := newPair(t, 80, 24)
		_, done := p.begin(twoByTwo(1))
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 200 {
				fmt.Fprintf(p.screen, "line %d\n", i)
			}
		})
		done()
		wg.Wait()
		fmt.Fprintln(p.screen, "the end")
		for i := 0; !strings.HasSuffix(p.glass.text(), "\nthe end\n"); i++ {
			if i == 500 {
				t.Fatalf("on the glass is\n%s", p.glass.text())
			}
			time.Sleep(10 * time.Millisecond)
		}
		next := 0
		for line := range strings.Lines(p.glass.text()) {
			if line == fmt.Sprintf("line %d\n", next) {
				next++
			}
		}
		if next != 200 {
			t.Fatalf("%d lines of 200 in order:\n%s", next, p.glass.text())
		}
	}
}

// Terminals that can't move their cursor, or don't say how large they are, get
// lines.
func TestPlainTerminals(t *testing.T) {
	for name, tt := range map[string]struct {
		term       string
		cols, rows uint16
	}{
		"dumb":    {"dumb", 80, 24},
		"unset":   {"", 80, 24},
		"no size": {"xterm", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 200, 24)
			if err := pty.Setsize(p.terminal, &pty.Winsize{Cols: tt.cols, Rows: tt.rows}); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TERM", tt.term)
			prog, done := p.begin(twoByTwo(1))
			play(prog, p.clock, twoByTwo(1), make([][]string, 1))
			done()
			p.waitFor("sweep: 1 block of .*", "boot 1 of 2: .*", "  linux-kernel.*", "  linux-kernel.*", "boot 2 of 2: .*", "  bare.*", "  bare.*", "sweep: 4 trials in 2 boots took .*")
			if p.glass.was("\x1b") {
				t.Error("it was sent an escape sequence")
			}
		})
	}
}
