package report

import (
	"bytes"
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The file's size: 800 CSS pixels wide, at which its text is that of a page;
// the picture has two pixels for each.
const (
	plotWidth  vg.Length = 600
	plotHeight vg.Length = 400
	legendRow  vg.Length = 14
	plotMargin vg.Length = 8
	plotDPI              = 192
)

func writeSVG(w io.Writer, runs []Shown) error {
	f, err := newFigure(runs)
	if err != nil {
		return err
	}
	c := vgsvg.New(plotWidth, f.plotHeight())
	f.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	// Where there is no Liberation, Arial is as wide; and a reader that shows
	// no picture says the title.
	out := strings.ReplaceAll(b.String(), "font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")
	head, rest, _ := strings.Cut(out, "xlink\">\n")
	_, err = io.WriteString(w, head+"xlink\">\n<title>"+escapeXML(f.title)+"</title>\n"+rest)
	return err
}

func escapeXML(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func writePNG(w io.Writer, runs []Shown) error {
	f, err := newFigure(runs)
	if err != nil {
		return err
	}
	c := vgimg.NewWith(vgimg.UseWH(plotWidth, f.plotHeight()), vgimg.UseDPI(plotDPI))
	f.draw(draw.New(c))
	_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// plotHeight is the file's: the legend and the lines of the title add to it.
func (f *figure) plotHeight() vg.Length {
	return plotHeight + legendRow*vg.Length(f.legendRows()+strings.Count(f.subtitle, "\n"))
}

// palette are colours that those who see fewer tell apart (Okabe and Ito,
// "Color Universal Design", 2008), in the order of the glyphs.
func palette() []color.NRGBA {
	return []color.NRGBA{
		{0x00, 0x72, 0xB2, 255}, // blue
		{0xD5, 0x5E, 0x00, 255}, // vermilion
		{0x00, 0x9E, 0x73, 255}, // bluish green
		{0x33, 0x33, 0x33, 255}, // near black
		{0xCC, 0x79, 0xA7, 255}, // reddish purple
		{0xE6, 0x9F, 0x00, 255}, // orange
		{0x56, 0xB4, 0xE9, 255}, // sky blue
		{0x8B, 0x5A, 0x2B, 255}, // brown
	}
}

const (
	ink   = shade(0x22)
	grey  = shade(0x66)
	faint = shade(0xDD)
	paper = shade(0xFF)
)

// shade is a grey, from 0, black, to 255, white.
type shade uint8

// RGBA implements [color.Color].
func (s shade) RGBA() (r, g, b, a uint32) { return color.Gray{Y: uint8(s)}.RGBA() }

// typeface is the figure's text. gonum's own default is set with serifs.
func typeface(size vg.Length, weight xfont.Weight, c color.Color) text.Style {
	return text.Style{
		Color: c, Handler: plot.DefaultTextHandler,
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size, Weight: weight},
	}
}

// draw draws all of it: title, plot, legend.
func (f *figure) draw(c draw.Canvas) {
	c.SetColor(paper)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, plotMargin, -plotMargin, plotMargin, -plotMargin)

	title := typeface(13, xfont.WeightBold, ink)
	title.YAlign = text.YTop
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, f.title)
	small := typeface(9, xfont.WeightNormal, grey)
	small.YAlign = text.YTop
	top := vg.Length(17)
	for line := range strings.SplitSeq(f.subtitle, "\n") {
		c.FillText(small, vg.Point{X: c.Min.X, Y: c.Max.Y - top}, shorten(small, line, c.Max.X-c.Min.X))
		top += legendRow
	}
	legend := legendRow * vg.Length(f.legendRows())
	f.drawLegend(draw.Crop(c, 0, 0, 0, legend-(c.Max.Y-c.Min.Y)))
	f.drawPlot(draw.Crop(c, 0, 0, legend+6, -top-4))
}

// shorten cuts a line that is too long.
func shorten(s text.Style, line string, width vg.Length) string {
	if s.Width(line) <= width {
		return line
	}
	runes := []rune(line)
	for len(runes) > 0 && s.Width(string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

func (f *figure) drawPlot(c draw.Canvas) {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = typeface(10, xfont.WeightNormal, ink)
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = text.XCenter, text.YBottom
		a.Tick.Label = typeface(10, xfont.WeightNormal, ink)
		a.Color, a.Tick.Color = grey, grey
		a.Padding = 0
	}
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XCenter, text.YTop
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = text.XRight, text.YCenter
	p.Y.Label.Text = "Mpps, logarithmic"
	p.X.Label.Text = "packet size, bytes without FCS (not to scale)"
	p.X.Tick.Length = 3
	p.X.Tick.LineStyle.Width = 0
	p.X.Min, p.X.Max = -0.5, float64(len(f.sizes))-0.5
	p.Y.Min, p.Y.Max = f.low, f.high
	p.Y.Scale = plot.LogScale{}
	var ticks plot.ConstantTicks
	for i, size := range f.sizes {
		t := plot.Tick{Value: float64(i)}
		if i%f.every() == 0 {
			t.Label = strconv.Itoa(size)
		}
		ticks = append(ticks, t)
	}
	p.X.Tick.Marker = ticks
	ticks = nil
	for _, v := range f.ticks {
		ticks = append(ticks, plot.Tick{Value: v, Label: tickLabel(v)})
	}
	p.Y.Tick.Marker = ticks
	p.Add(f)
	p.Draw(c)
}

// every is how many sizes share a label on the axis, for want of room.
func (f *figure) every() int { return (len(f.sizes) + 15) / 16 }

func tickLabel(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Plot implements [plot.Plotter]: it draws what is within the axes.
func (f *figure) Plot(c draw.Canvas, _ *plot.Plot) {
	x := func(groups float64) vg.Length { return c.X((groups + 0.5) / float64(len(f.sizes))) }
	y := func(mpps float64) vg.Length { return c.Y(f.height(mpps)) }
	for _, v := range f.ticks {
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.5}, c.Min.X, y(v), c.Max.X, y(v))
	}
	for i := 1; i < len(f.sizes); i++ {
		at := x(float64(i) - 0.5)
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: 0.5}, at, c.Min.Y, at, c.Max.Y)
	}
	for i, l := range f.lineRates {
		for g, v := range l.mpps {
			if v > 0 {
				c.StrokeLine2(lineRateStyle(i), x(float64(g)-reach), y(v), x(float64(g)+reach), y(v))
			}
		}
	}
	for i, s := range f.series {
		for _, m := range s.ceilings() {
			c.StrokeLine2(draw.LineStyle{Color: colourOf(i), Width: 1}, x(float64(m.group)-reach), y(m.mpps), x(float64(m.group)+reach), y(m.mpps))
		}
	}
	size := f.radius(c.Max.X - c.Min.X)
	for i, s := range f.series {
		line := draw.LineStyle{Color: colourOf(i), Width: 1}
		for _, m := range s.marks {
			at := x(m.x())
			if m.high > 0 {
				cap := size * 0.8
				c.StrokeLine2(line, at, y(m.low), at, y(m.high))
				c.StrokeLine2(line, at-cap, y(m.low), at+cap, y(m.low))
				c.StrokeLine2(line, at-cap, y(m.high), at+cap, y(m.high))
			}
			drawGlyph(c, i, m.fill, vg.Point{X: at, Y: y(m.mpps)}, size)
		}
	}
}

// radius is that of a mark: neighbours do not touch.
func (f *figure) radius(width vg.Length) vg.Length {
	return min(max(width/vg.Length(len(f.sizes))*vg.Length(f.step())*0.4, 1.4), 4)
}

func colourOf(series int) color.NRGBA { return palette()[series%len(palette())] }

func lineRateStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: grey, Width: 1.2, Dashes: []vg.Length{4, vg.Length(2 + 2*i)}}
}

// drawGlyph draws a series' mark.
func drawGlyph(c draw.Canvas, series int, k fill, at vg.Point, size vg.Length) {
	shapes := glyphs()
	path := outline(shapes[series%len(shapes)], at, size)
	colour := colourOf(series)
	c.SetColor(paper)
	if k == full {
		c.SetColor(colour)
	}
	c.Fill(path)
	c.SetColor(colour)
	c.SetLineWidth(1.2)
	c.SetLineDash(nil, 0)
	c.Stroke(path)
	if k == dotted {
		c.Fill(outline(regular(12, 0, 0.4), at, size))
	}
}

func outline(g glyph, at vg.Point, size vg.Length) vg.Path {
	var p vg.Path
	for i, corner := range g {
		q := vg.Point{X: at.X + size*vg.Length(corner[0]), Y: at.Y + size*vg.Length(corner[1])}
		if i == 0 {
			p.Move(q)
		} else {
			p.Line(q)
		}
	}
	p.Close()
	return p
}

// entry is a line of the legend.
type entry struct {
	words string
	draw  func(c draw.Canvas, at vg.Point)
}

// legend are its entries: the systems, the lines, and what a fill means.
func (f *figure) legend() []entry {
	var out []entry
	const half, size = 9, 3.6
	across := func(c draw.Canvas, s draw.LineStyle, at vg.Point) { c.StrokeLine2(s, at.X-half, at.Y, at.X+half, at.Y) }
	for i, s := range f.series {
		name := s.name
		if s.ceiling {
			name += ": the ceiling"
		}
		out = append(out, entry{name, func(c draw.Canvas, at vg.Point) {
			if s.ceiling {
				across(c, draw.LineStyle{Color: colourOf(i), Width: 1}, at)
			}
			drawGlyph(c, i, full, at, size)
		}})
	}
	for i, l := range f.lineRates {
		out = append(out, entry{l.name, func(c draw.Canvas, at vg.Point) { across(c, lineRateStyle(i), at) }})
	}
	for _, k := range f.kinds() {
		out = append(out, entry{k.words, func(c draw.Canvas, at vg.Point) {
			c.SetColor(grey)
			c.SetLineWidth(1.2)
			c.SetLineDash(nil, 0)
			circle := outline(glyphs()[0], at, size)
			c.Stroke(circle)
			switch k.fill {
			case full:
				c.Fill(circle)
			case dotted:
				c.Fill(outline(regular(12, 0, 0.4), at, size))
			}
		}})
	}
	return out
}

const legendColumns = 3

func (f *figure) legendRows() int { return (len(f.legend()) + legendColumns - 1) / legendColumns }

// drawLegend draws it below the plot, where it covers nothing.
func (f *figure) drawLegend(c draw.Canvas) {
	style := typeface(10, xfont.WeightNormal, ink)
	style.YAlign = text.YCenter
	column := (c.Max.X - c.Min.X) / legendColumns
	for i, e := range f.legend() {
		at := vg.Point{
			X: c.Min.X + column*vg.Length(i%legendColumns) + 12,
			Y: c.Max.Y - legendRow*(vg.Length(math.Floor(float64(i)/legendColumns))+0.5),
		}
		e.draw(c, at)
		c.FillText(style, vg.Point{X: at.X + 14, Y: at.Y + 1}, shorten(style, e.words, column-30))
	}
}

var _ plot.Plotter = (*figure)(nil)
