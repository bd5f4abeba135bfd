package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// drawing is the figure as markup for the page: text that stays text, a mark
// that takes the keyboard's focus, colours that the page's style decides.
type drawing struct {
	ID                       string // also the name of its class: wide or narrow
	About                    string // in words, for who can't see it
	Width, Height            float64
	Left, Right, Top, Bottom float64 // of the plot

	X, Y   []drawnTick
	Groups []float64 // where groups part
	Lines  []drawnLine
	Marks  []drawnMark
}

type drawnTick struct {
	At    float64
	Label string
}

type drawnLine struct {
	Class          string
	X1, Y1, X2, Y2 float64
}

type drawnMark struct {
	Class    string // of the colour
	Fill     string // full, hollow, dotted
	Words    string
	X, Y, R  float64
	Shape    string
	Bar      bool
	Low, Top float64
	CapL     float64
	CapR     float64
	Hit      float64 // the radius within which a finger means it
}

// MiddleX is the middle of the plot.
func (d drawing) MiddleX() float64 { return tenth((d.Left + d.Right) / 2) }

// MiddleY is the middle of the plot.
func (d drawing) MiddleY() float64 { return tenth((d.Top + d.Bottom) / 2) }

// Dot is the radius of the dot within a mark.
func (m drawnMark) Dot() float64 { return tenth(m.R * 0.4) }

// legendEntry is a line of the legend in the page.
type legendEntry struct {
	Class, Shape, Fill, Line, Words string
}

// drawings are the figure for a wide page and for a phone.
func (f *figure) drawings() []drawing {
	return []drawing{
		f.drawing(drawing{ID: "wide", Width: 860, Height: 430, Left: 58, Right: 850, Top: 12, Bottom: 385}),
		f.drawing(drawing{ID: "narrow", Width: 370, Height: 440, Left: 40, Right: 366, Top: 12, Bottom: 395}),
	}
}

func (f *figure) drawing(d drawing) drawing {
	d.About = f.about()
	n := float64(len(f.sizes))
	x := func(groups float64) float64 { return tenth(d.Left + (groups+0.5)/n*(d.Right-d.Left)) }
	y := func(mpps float64) float64 { return tenth(d.Bottom - f.height(mpps)*(d.Bottom-d.Top)) }
	every := f.every()
	if d.Right-d.Left < 40*n/float64(every) {
		every *= 2
	}
	for i, size := range f.sizes {
		if i%every == 0 {
			d.X = append(d.X, drawnTick{x(float64(i)), strconv.Itoa(size)})
		}
		if i > 0 {
			d.Groups = append(d.Groups, x(float64(i)-0.5))
		}
	}
	for _, v := range f.ticks {
		d.Y = append(d.Y, drawnTick{y(v), tickLabel(v)})
	}
	for _, l := range f.lineRates {
		for g, v := range l.mpps {
			if v > 0 {
				d.Lines = append(d.Lines, drawnLine{"rate", x(float64(g) - reach), y(v), x(float64(g) + reach), y(v)})
			}
		}
	}
	step := f.step() / n * (d.Right - d.Left)
	radius := tenth(min(max(step*0.4, 2), 6))
	shapes := glyphs()
	for i, s := range f.series {
		class := colourClass(i)
		for _, m := range s.ceilings() {
			g := float64(m.group)
			d.Lines = append(d.Lines, drawnLine{"ceiling " + class, x(g - reach), y(m.mpps), x(g + reach), y(m.mpps)})
		}
		for _, m := range s.marks {
			at := drawnMark{
				Class: class, Fill: m.fill.String(), Words: m.words, X: x(m.x()), Y: y(m.mpps), R: radius,
				Hit: tenth(max(step/2, radius+1)), Shape: pathOf(shapes[i%len(shapes)], x(m.x()), y(m.mpps), radius),
			}
			if m.high > 0 {
				at.Bar, at.Low, at.Top = true, y(m.low), y(m.high)
				at.CapL, at.CapR = tenth(at.X-radius*0.8), tenth(at.X+radius*0.8)
			}
			d.Marks = append(d.Marks, at)
		}
	}
	return d
}

func colourClass(series int) string { return fmt.Sprintf("c%d", series%len(glyphs())) }

// String is the class of a fill in the page.
func (k fill) String() string {
	switch k {
	case full:
		return "full"
	case hollow:
		return "hollow"
	}
	return "dotted"
}

// legendEntries are the legend's lines, each with its mark about 0, 0.
func (f *figure) legendEntries() []legendEntry {
	var out []legendEntry
	shapes := glyphs()
	for i, s := range f.series {
		e := legendEntry{Class: colourClass(i), Shape: pathOf(shapes[i%len(shapes)], 0, 0, 5), Fill: "full", Words: s.name}
		if s.ceiling {
			e.Line, e.Words = "ceiling", s.name+": the ceiling"
		}
		out = append(out, e)
	}
	for _, l := range f.lineRates {
		out = append(out, legendEntry{Line: "rate", Words: l.name})
	}
	for _, k := range f.kinds() {
		out = append(out, legendEntry{Class: "any", Shape: pathOf(shapes[0], 0, 0, 5), Fill: k.fill.String(), Words: k.words})
	}
	return out
}

// about is the figure in words.
func (f *figure) about() string {
	names := make([]string, len(f.series))
	marks := 0
	for i, s := range f.series {
		names[i] = s.name
		marks += len(s.marks)
	}
	return fmt.Sprintf("Packets a second that arrived, in millions on a logarithmic axis from %s to %s, at packet sizes of %s bytes: %d points of %s. Each point says its values; the table below has them, too.",
		tickLabel(f.low), tickLabel(f.high), strings.Trim(strings.Join(strings.Fields(fmt.Sprint(f.sizes)), ", "), "[]"), marks, strings.Join(names, "; "))
}

// pathOf is a glyph's outline as an SVG path; there y is downwards.
func pathOf(g glyph, x, y, radius float64) string {
	var b strings.Builder
	for i, corner := range g {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", command, x+radius*corner[0], y-radius*corner[1])
	}
	return b.String() + "Z"
}

// tenth rounds a length: a pixel has no finer parts that show.
func tenth(v float64) float64 { return math.Round(v*10) / 10 }
