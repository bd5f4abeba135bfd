package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sweep/internal/audit"
	"sweep/internal/bare"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/sizes"
)

const (
	// near is from which share of what the wire or bare carries a point is
	// limited by it.
	near = 0.97

	// lossShare is up to which share of the packets what a hop dropped is no
	// sign that it was at its limit: a tenth of the margin within which rates
	// are equivalent, so that it can't decide between two systems. A hop at
	// its limit drops whole percents of what a faster sender sends.
	lossShare = 0.001

	// fullShare is up to how many times a packet sent a guest may find its
	// ring full and still be limited by itself. A try that finds no room
	// costs it no more than a packet that it sends, so that with room at all
	// times it would be 3 % faster at most.
	fullShare = 1 - near
)

// boot is the rate that a point had in one boot.
type boot struct {
	round int
	rate  float64
}

// evidence is a point's trials, as far as a verdict needs them.
type evidence struct {
	boots    []boot       // that gave a rate, by round
	ledger   audit.Ledger // theirs, added up
	unsteady int
}

type key struct {
	system plan.System
	size   int
}

// judgePoints joins the trials of each point and says what held it back. The
// systems are in the plan's order, others behind them, the sizes of each from
// small to large.
func judgePoints(run results.Run, trials []results.Trial, rules Rules) []Point {
	systems := slices.Clone(run.Plan.Systems)
	of := map[key][]results.Trial{}
	for _, t := range trials {
		if !slices.Contains(systems, t.System) {
			systems = append(systems, t.System)
		}
		k := key{t.System, t.Size}
		of[k] = append(of[k], t)
	}
	found := map[key]evidence{}
	keys := make([]key, 0, len(of))
	for k, ts := range of {
		found[k] = gather(ts)
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(slices.Index(systems, a.system), slices.Index(systems, b.system)), cmp.Compare(a.size, b.size))
	})
	points := make([]Point, 0, len(keys))
	for _, k := range keys {
		e := found[k]
		p := Point{System: k.system, Size: k.size, Unsteady: e.unsteady, Rates: e.rates()}
		p.Median = stats.Median(p.Rates)
		p.Interval, p.Modes, p.NoInterval = spread(p.Rates, run.Plan.Precision > 0)
		if rules.LineRate > 0 {
			p.LineRate = sizes.LineRate(k.size, rules.LineRate)
		}
		ceiling := found[key{plan.System{Guest: bare.Name, Attachment: k.system.Attachment}, k.size}]
		if !isCeiling(k.system) {
			p.Ceiling = stats.Median(ceiling.rates())
		}
		p.LimitedBy, p.Because = limit(p, e, ceiling)
		points = append(points, p)
	}
	return points
}

// gather takes what counts from the trials of a point: one value a boot.
func gather(trials []results.Trial) evidence {
	var e evidence
	byBoot := map[plan.Trial][]float64{}
	for _, t := range trials {
		if t.Error != "" {
			if slices.ContainsFunc(t.Findings, func(f audit.Finding) bool { return f.Kind == audit.Unsteady }) {
				e.unsteady++
			}
			continue
		}
		byBoot[t.Trial] = append(byBoot[t.Trial], t.RxPps)
		if t.Ledger != nil {
			e.ledger = add(e.ledger, *t.Ledger)
		}
	}
	for t, rates := range byBoot {
		e.boots = append(e.boots, boot{t.Round, stats.Median(rates)})
	}
	slices.SortFunc(e.boots, func(a, b boot) int { return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.rate, b.rate)) })
	return e
}

func (e evidence) rates() []float64 {
	out := make([]float64, len(e.boots))
	for i, b := range e.boots {
		out[i] = b.rate
	}
	return out
}

// shares are a point's rates as shares of another's in the same blocks.
func (e evidence) shares(of evidence) []float64 {
	rate := map[int]float64{}
	for _, b := range of.boots {
		rate[b.round] = b.rate
	}
	var out []float64
	for _, b := range e.boots {
		if r := rate[b.round]; r > 0 {
			out = append(out, b.rate/r)
		}
	}
	return out
}

func add(a, b audit.Ledger) audit.Ledger {
	return audit.Ledger{
		GuestSent: a.GuestSent + b.GuestSent, GuestDropped: a.GuestDropped + b.GuestDropped,
		ServerReceived: a.ServerReceived + b.ServerReceived, ServerSent: a.ServerSent + b.ServerSent, ServerDropped: a.ServerDropped + b.ServerDropped,
		ClientReceived: a.ClientReceived + b.ClientReceived, ClientBytes: a.ClientBytes + b.ClientBytes,
		ClientMissed: a.ClientMissed + b.ClientMissed, ClientErrors: a.ClientErrors + b.ClientErrors, ClientNombuf: a.ClientNombuf + b.ClientNombuf,
	}
}

// spread is how sure the median of some rates is: an interval, or why there is
// none. stopped says that the width of the interval decided how many there are.
func spread(rates []float64, stopped bool) (interval *stats.Interval, modes []stats.Mode, why string) {
	if modes = stats.Modes(rates); modes != nil {
		return nil, modes, "modes differ: no interval: " + modesInWords(modes)
	}
	switch {
	case len(rates) == 0:
		return nil, nil, "no trial gave a rate"
	case len(rates) == 1:
		return nil, nil, "one boot: no interval"
	case stopped:
		interval, why = stats.StoppedInterval(rates)
	default:
		interval, why = stats.MedianInterval(rates, stats.Confidence)
	}
	return interval, nil, why
}

func modesInWords(modes []stats.Mode) string {
	words := make([]string, len(modes))
	for i, m := range modes {
		words[i] = fmt.Sprintf("%.4g Mpps in %s", m.Center/1e6, count(m.Count, "boot"))
	}
	return strings.Join(words, ", ")
}

// Narrow says whether a run with a precision may stop adding blocks as far as
// this point goes. precision is the most that half the interval's width may
// be, as a share of the median, such as 0.01. A point with fewer than 7 boots,
// or with modes that differ, is never narrow.
func (p Point) Narrow(precision float64) bool { return stats.Narrow(p.Rates, precision) }

// limit says what held a point back, and why. ceiling is bare's evidence at the
// same size.
func limit(p Point, e, ceiling evidence) (Limiter, string) {
	if len(p.Rates) == 0 {
		return Unknown, "no trial gave a rate"
	}
	l := e.ledger
	if p.LineRate > 0 {
		shares := make([]float64, len(p.Rates))
		for i, r := range p.Rates {
			shares[i] = r / p.LineRate
		}
		if high, words := reach(shares); high >= near {
			return Wire, words + " of line rate"
		}
	}
	if above(l.ServerDropped, l.ServerReceived, lossShare) {
		return Wire, fmt.Sprintf("the forwarder dropped %s of what it received, because the wire had no room: it is full, or the client does not empty it fast enough", percent(l.ServerDropped, l.ServerReceived))
	}
	// What a client lost without counting it, as net_af_packet does, shows in
	// what is missing on the wire.
	uncounted := uint64(max(l.Residual().Wire, 0))
	lost := l.ClientMissed + l.ClientNombuf + l.ClientErrors + uncounted
	if came := l.ClientReceived + lost; above(lost, came, lossShare) {
		return Client, fmt.Sprintf("the client lost %s of what came to it: %d missed, %d without a buffer, %d errors, %d that it does not count",
			percent(lost, came), l.ClientMissed, l.ClientNombuf, l.ClientErrors, uncounted)
	}
	if isCeiling(p.System) {
		return Forwarder, "it is the ceiling: a guest that does nothing but send"
	}
	if above(l.GuestDropped, l.GuestSent, fullShare) {
		return Forwarder, fmt.Sprintf("the guest found its ring full: %s as often as it sent a packet", percent(l.GuestDropped, l.GuestSent))
	}
	shares := e.shares(ceiling)
	if len(shares) == 0 {
		return Unknown, "bare was not measured in the same blocks"
	}
	high, words := reach(shares)
	words += " of bare's rate in the same blocks"
	if high >= near {
		return Forwarder, words
	}
	return Guest, words + ", and nothing on the way was at its limit"
}

// reach is the upper end of some shares, and both ends in words: of the
// interval of their median, of the shares themselves where there is none.
func reach(shares []float64) (high float64, words string) {
	low, high := slices.Min(shares), slices.Max(shares)
	how := "in " + count(len(shares), "boot") + ", "
	if interval, _, _ := spread(shares, false); interval != nil {
		low, high, how = interval.Low, interval.High, ""
	}
	if ends := fmt.Sprintf("%.1f %%", 100*low); ends == fmt.Sprintf("%.1f %%", 100*high) {
		return high, how + ends
	}
	return high, fmt.Sprintf("%s%.1f %% to %.1f %%", how, 100*low, 100*high)
}

func above(part, whole uint64, share float64) bool { return float64(part) > share*float64(whole) }

func percent(part, whole uint64) string {
	if whole == 0 {
		return "all"
	}
	if share := 100 * float64(part) / float64(whole); share < 10 {
		return fmt.Sprintf("%.2g %%", share)
	} else {
		return fmt.Sprintf("%.0f %%", share)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
