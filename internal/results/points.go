package results

import (
	"cmp"
	"slices"

	"sweep/internal/plan"
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
	type key struct {
		system plan.System
		size   int
	}
	var order []key
	byPoint := map[key][]Trial{}
	for _, t := range trials {
		k := key{t.System, t.Size}
		if byPoint[k] == nil {
			order = append(order, k)
		}
		byPoint[k] = append(byPoint[k], t)
	}
	points := make([]Point, 0, len(order))
	for _, k := range order {
		p := Point{System: k.system, Size: k.size}
		var rates []float64
		for _, t := range byPoint[k] {
			if t.Error != "" {
				p.Errors = appendOnce(p.Errors, t.Error)
				continue
			}
			rates = append(rates, t.RxPps)
			p.RxError = max(p.RxError, t.RxError)
			for _, w := range t.Warnings {
				p.Warnings = appendOnce(p.Warnings, w)
			}
		}
		p.Trials = len(rates)
		p.RxPps = Median(rates)
		points = append(points, p)
	}
	first := map[plan.System]int{}
	for i, k := range order {
		if _, ok := first[k.system]; !ok {
			first[k.system] = i
		}
	}
	slices.SortStableFunc(points, func(a, b Point) int {
		return cmp.Or(cmp.Compare(first[a.System], first[b.System]), cmp.Compare(a.Size, b.Size))
	})
	return points
}

// Median is the middle value, the mean of the two where their number is even,
// 0 where there is none.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	mid := len(v) / 2
	if len(v)%2 == 0 {
		return (v[mid-1] + v[mid]) / 2
	}
	return v[mid]
}

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
