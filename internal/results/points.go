package results

import (
	"cmp"
	"maps"
	"slices"

	"sweep/internal/plan"
	"sweep/internal/stats"
)

// Point is a system at a size: what the table shows in one place.
type Point struct {
	System plan.System
	Size   int

	Trials  int     // how many trials gave a rate
	RxPps   float64 // the median of these; 0 where there is none
	RxError float64 // the largest standard error within one of them

	Warnings []string // each once, over all trials
	Errors   []string // why trials gave none, each once
}

// Points joins the trials of each point: the systems in the order in which they
// first came, the sizes of each from small to large.
func Points(trials []Trial) []Point {
	grouped := group(trials, func(t Trial) plan.Trial { return t.Trial })
	points := make([]Point, 0, len(grouped))
	for _, g := range grouped {
		p := Point{System: g[0].System, Size: g[0].Size}
		var rates []float64
		for _, t := range g {
			if t.Error != "" {
				p.Errors = appendOnce(p.Errors, t.Error)
				continue
			}
			rates = append(rates, t.RxPps)
			p.RxError = max(p.RxError, t.RxError)
			for _, w := range t.Warnings() {
				p.Warnings = appendOnce(p.Warnings, w)
			}
		}
		p.Trials = len(rates)
		p.RxPps = Median(rates)
		points = append(points, p)
	}
	return points
}

// group joins what is of the same system and size: the systems in the order in
// which they first came, the sizes of each from small to large.
func group[T any](all []T, of func(T) plan.Trial) [][]T {
	type key struct {
		system plan.System
		size   int
	}
	first := map[plan.System]int{}
	members := map[key][]T{}
	for i, v := range all {
		t := of(v)
		if _, ok := first[t.System]; !ok {
			first[t.System] = i
		}
		k := key{t.System, t.Size}
		members[k] = append(members[k], v)
	}
	order := slices.SortedFunc(maps.Keys(members), func(a, b key) int {
		return cmp.Or(cmp.Compare(first[a.system], first[b.system]), cmp.Compare(a.size, b.size))
	})
	out := make([][]T, len(order))
	for i, k := range order {
		out[i] = members[k]
	}
	return out
}

// Median is [stats.Median].
func Median(v []float64) float64 { return stats.Median(v) }

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
