package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/verdict"
	"sweep/sizes"
)

// figure is what is drawn: throughput over packet size. It has no lengths and
// no colours, so that a file (gonum/plot) and a page (markup of its own) draw
// the same.
//
// The sizes stand side by side at equal distances, as in the published figure,
// and the systems of a size beside each other, so that none hides another. The
// rates are on a logarithmic axis: between 64 and 1500 bytes, and between an
// emulator and hardware, lie factors, and equal factors are equal heights.
type figure struct {
	title     string
	subtitle  string
	sizes     []int
	low, high float64   // Mpps: the ends of the axis
	ticks     []float64 // Mpps
	series    []series
	lineRates []lineRate
}

// series is a system of a run.
type series struct {
	name    string
	ceiling bool // bare: what the path carries
	marks   []mark
}

// mark is a point as it is drawn.
type mark struct {
	group     int     // its size's place among the sizes
	offset    float64 // from the middle of the group, in widths of a group
	mpps      float64
	low, high float64 // the interval's ends; 0 where there is none
	fill      fill
	words     string // what there is to say of it
}

// x is where a mark stands, in groups.
func (m mark) x() float64 { return float64(m.group) + m.offset }

// fill says what held a point back.
type fill int

const (
	full   fill = iota // the guest
	hollow             // something else
	dotted             // nobody can say
)

// lineRate is what a link carries, for each group of the figure.
type lineRate struct {
	name string
	mpps []float64 // 0 where nothing is known
}

// reach is how far a group's lines go from its middle, in widths of a group.
const reach = 0.44

// newFigure says what the figure of some runs is.
func newFigure(runs []Shown) (figure, error) {
	f := figure{title: "Packets that arrive, by packet size", subtitle: subtitle(runs)}
	var all [][]point
	for _, s := range runs {
		points := s.points()
		all = append(all, points)
		f.sizes = append(f.sizes, sortedSizes(points)...)
	}
	slices.Sort(f.sizes)
	f.sizes = slices.Compact(f.sizes)
	for i, s := range runs {
		for _, system := range s.systems() {
			se := series{name: system.String(), ceiling: system.Guest == "bare"}
			if len(runs) > 1 {
				se.name += ", " + s.Name
			}
			for _, p := range all[i] {
				if p.System == system && p.Trials > 0 && p.RxPps > 0 {
					se.marks = append(se.marks, f.mark(p, se.name))
				}
			}
			if len(se.marks) > 0 {
				f.series = append(f.series, se)
			}
		}
	}
	if len(f.series) == 0 {
		return f, errors.New("no point has a rate: there is nothing to draw")
	}
	f.spread()
	f.addLineRates(slices.Concat(all...))
	f.scale()
	return f, nil
}

// mark says how a point is drawn.
func (f *figure) mark(p point, name string) mark {
	m := mark{group: slices.Index(f.sizes, p.Size), mpps: p.RxPps / 1e6, words: words(p, name)}
	if i := p.judged.Interval; i != nil {
		m.low, m.high = i.Low/1e6, i.High/1e6
	}
	switch {
	case p.judged.LimitedBy == verdict.Guest:
		m.fill = full
	case slices.Contains(limited(), p.judged.LimitedBy):
		m.fill = hollow
	default:
		m.fill = dotted
	}
	return m
}

// words say all of a point, for who hovers over it or listens.
func words(p point, name string) string {
	text := fmt.Sprintf("%s, %d B: %s Mpps", name, p.Size, rate(p))
	if i := p.judged.Interval; i != nil {
		text += fmt.Sprintf(" (%s: %s to %s)", confidence(i.Confidence), Mpps(i.Low, i.High-i.Low), Mpps(i.High, i.High-i.Low))
	}
	if p.Trials == 1 {
		text += ", one boot"
	} else {
		text += fmt.Sprintf(", %d boots", p.Trials)
	}
	text += ". " + limit(p)
	if p.judged.Unsteady > 0 {
		text += fmt.Sprintf(" Trials without a steady rate: %d.", p.judged.Unsteady)
	}
	return text
}

// limit says what held a point back, in a sentence.
func limit(p point) string {
	by := p.judged.LimitedBy
	if by == "" || by == verdict.Unknown {
		return sentenceOf("What held it back is not known", p.judged.Because)
	}
	return sentenceOf("Limited by the "+string(by), p.judged.Because)
}

// sentenceOf is a sentence and its reason, where there is one.
func sentenceOf(what, because string) string {
	if because == "" {
		return what + "."
	}
	return what + ": " + strings.TrimSuffix(because, ".") + "."
}

// spread puts the systems of a group beside each other.
func (f *figure) spread() {
	n, step := len(f.series), f.step()
	for i := range f.series {
		for j := range f.series[i].marks {
			f.series[i].marks[j].offset = (float64(i) - float64(n-1)/2) * step
		}
	}
}

// step is how far systems stand from each other, in widths of a group.
func (f *figure) step() float64 { return min(2*reach*0.9/float64(len(f.series)), 0.16) }

// addLineRates takes over what the links carry. Links of the same speed are
// one.
func (f *figure) addLineRates(points []point) {
	for _, p := range points {
		if p.judged.LineRate <= 0 {
			continue
		}
		gigabits := p.judged.LineRate * 8 * float64(sizes.Wire(p.Size)) / 1e9
		name := fmt.Sprintf("line rate, %.3g Gb/s", gigabits)
		i := slices.IndexFunc(f.lineRates, func(l lineRate) bool { return l.name == name })
		if i < 0 {
			i = len(f.lineRates)
			f.lineRates = append(f.lineRates, lineRate{name, make([]float64, len(f.sizes))})
		}
		f.lineRates[i].mpps[slices.Index(f.sizes, p.Size)] = p.judged.LineRate / 1e6
	}
}

// scale chooses the ends of the axis and its ticks: 1, 2 and 5 of each decade;
// within less than a decade more of them.
func (f *figure) scale() {
	least, most := math.Inf(1), 0.0
	take := func(v float64) {
		if v > 0 {
			least, most = min(least, v), max(most, v)
		}
	}
	for _, s := range f.series {
		for _, m := range s.marks {
			take(m.mpps)
			take(m.low)
			take(m.high)
		}
	}
	for _, l := range f.lineRates {
		for _, v := range l.mpps {
			take(v)
		}
	}
	steps := []float64{1, 2, 5}
	if most/least < 8 {
		steps = []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}
	}
	// A mark at the edge is not cut in two.
	least, most = least*0.93, most*1.07
	decade := int(math.Floor(math.Log10(least))) - 1
	var all []float64
	for ; math.Pow10(decade) <= most*10; decade++ {
		for _, s := range steps {
			// By its digits, for 3 x 0.1 is not 0.3.
			v, err := strconv.ParseFloat(fmt.Sprintf("%ge%d", s, decade), 64)
			if err == nil {
				all = append(all, v)
			}
		}
	}
	first, _ := slices.BinarySearch(all, least)
	last, _ := slices.BinarySearch(all, most)
	f.ticks = all[first-1 : last+1]
	f.low, f.high = f.ticks[0], f.ticks[len(f.ticks)-1]
}

// height is where a rate stands on the axis: 0 at its low end, 1 at its high
// one.
func (f *figure) height(mpps float64) float64 {
	mpps = min(max(mpps, f.low), f.high)
	return math.Log(mpps/f.low) / math.Log(f.high/f.low)
}

// ceilings are what a bare's line reaches in each group: its own marks.
func (s series) ceilings() []mark {
	if s.ceiling {
		return s.marks
	}
	return nil
}

// has says whether a figure has a mark of this kind.
func (f *figure) has(k fill) bool {
	return slices.ContainsFunc(f.series, func(s series) bool {
		return slices.ContainsFunc(s.marks, func(m mark) bool { return m.fill == k })
	})
}

// kinds are the fills in the figure and what they mean.
func (f *figure) kinds() []kind {
	return slices.DeleteFunc([]kind{
		{full, "limited by the guest"},
		{hollow, "limited by wire, forwarder or client"},
		{dotted, "not known what limits it"},
	}, func(k kind) bool { return !f.has(k.fill) })
}

type kind struct {
	fill  fill
	words string
}

// subtitle says of which machine and how many boots a figure is.
func subtitle(runs []Shown) string {
	var lines []string
	for _, s := range runs {
		parts := []string{s.Name}
		if cpu := s.Run.Machine.CPU; cpu != "" {
			if n := s.Run.Machine.CPUs; n > 0 {
				cpu += fmt.Sprintf(" (%d CPUs)", n)
			}
			parts = append(parts, cpu)
		}
		if s.Run.Accel != "" {
			parts = append(parts, "QEMU with "+s.Run.Accel)
		}
		boots := "one boot a point: no interval"
		switch n := s.boots(); {
		case n == 0:
			boots = "no boot gave a rate"
		case n > 1:
			boots = fmt.Sprintf("up to %d boots a point: median", n)
			if intervals(s.points()) != "" {
				boots += " and interval"
			}
		}
		lines = append(lines, strings.Join(append(parts, boots), "; "))
	}
	return strings.Join(lines, "\n")
}

// A glyph is a shape of a series: its outline about 0, 0 at a radius of 1, y
// upwards.
type glyph [][2]float64

// glyphs are as many shapes as there are colours; each shape is of one colour,
// so that nobody needs the colours.
func glyphs() []glyph {
	return []glyph{
		regular(24, 0, 0.95),
		regular(4, math.Pi/4, 1.2),
		regular(3, math.Pi/2, 1.25),
		regular(4, math.Pi/2, 1.25),
		regular(3, -math.Pi/2, 1.25),
		fatPlus(),
		regular(6, 0, 1.1),
		star(),
	}
}

// regular is a polygon with n corners, the first in a direction.
func regular(n int, direction, radius float64) glyph {
	g := make(glyph, n)
	for i := range g {
		a := direction + 2*math.Pi*float64(i)/float64(n)
		g[i] = [2]float64{radius * math.Cos(a), radius * math.Sin(a)}
	}
	return g
}

func fatPlus() glyph {
	const a, b = 0.42, 1.15
	return glyph{{-a, b}, {a, b}, {a, a}, {b, a}, {b, -a}, {a, -a}, {a, -b}, {-a, -b}, {-a, -a}, {-b, -a}, {-b, a}, {-a, a}}
}

func star() glyph {
	g := make(glyph, 10)
	for i := range g {
		radius := 1.35
		if i%2 == 1 {
			radius = 0.6
		}
		a := math.Pi/2 + 2*math.Pi*float64(i)/10
		g[i] = [2]float64{radius * math.Cos(a), radius * math.Sin(a)}
	}
	return g
}
