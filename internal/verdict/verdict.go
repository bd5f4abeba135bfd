// Package verdict says what a run's numbers mean: how sure each point is, what
// held it back, and whether one system is faster than another. Nothing else in
// the kit says "faster".
package verdict

import (
	"sweep/internal/bare"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
)

// Limiter is what held a point back.
type Limiter string

// What can hold a point back.
const (
	Wire      Limiter = "wire"      // within 3 % of line rate, or the forwarder dropped on transmit
	Forwarder Limiter = "forwarder" // the guest found its ring full, or the rate is within 3 % of bare's
	Client    Limiter = "client"    // it missed packets
	Guest     Limiter = "guest"     // nothing else did: the rate is the guest's own
	Unknown   Limiter = "unknown"   // it can't be said, for want of bare in the same blocks
)

// Point is what a run says of a system at a size.
type Point struct {
	System plan.System `json:"system"`
	Size   int         `json:"size"` // bytes without FCS

	Rates    []float64       `json:"rates"`    // packets a second, of each boot that gave one, by round
	Median   float64         `json:"median"`   // of Rates; 0 where there is none
	Interval *stats.Interval `json:"interval"` // of the median, at 95 %; nil where NoInterval says why
	// NoInterval is why there is no interval: too few boots, or modes that
	// differ.
	NoInterval string       `json:"no_interval,omitempty"`
	Modes      []stats.Mode `json:"modes,omitempty"` // where there are several
	Unsteady   int          `json:"unsteady"`        // trials that gave no rate because it was not one

	LimitedBy Limiter `json:"limited_by"`
	// Because is why, in words and figures, such as "98.9 % to 99.4 % of line
	// rate".
	Because string `json:"because"`
	// LineRate and Ceiling are what the wire and bare carry, in packets a
	// second; 0 where there is none.
	LineRate float64 `json:"line_rate,omitempty"`
	Ceiling  float64 `json:"ceiling,omitempty"`
}

// Outcome is how two systems compare at a size.
type Outcome string

// How A compares with B.
const (
	Faster      Outcome = "faster"
	Slower      Outcome = "slower"
	Equivalent  Outcome = "equivalent" // within the margin of 1 %
	Undecided   Outcome = "undecided"
	NotCompared Outcome = "not compared"
)

// Comparison is of two systems at a size.
type Comparison struct {
	A    plan.System `json:"a"`
	B    plan.System `json:"b"`
	Size int         `json:"size"`

	Outcome Outcome `json:"outcome"` // A's
	Because string  `json:"because"` // in words; why it was not compared, too

	// Ratio is A's rate over B's (Hodges and Lehmann's estimate), Interval
	// that ratio's. P and PEquivalent are the smallest of the levels of
	// significance at which the test says that they differ, and that they are
	// equivalent, corrected over the family.
	Ratio       float64         `json:"ratio,omitempty"`
	Interval    *stats.Interval `json:"interval,omitempty"`
	P           float64         `json:"p,omitempty"`
	PEquivalent float64         `json:"p_equivalent,omitempty"`
}

// Verdict is all that a run says.
type Verdict struct {
	Points      []Point      `json:"points"`
	Comparisons []Comparison `json:"comparisons"`
	// Family says over what the tests were corrected, in words.
	Family string `json:"family"`
}

// Rules are what a verdict holds to.
type Rules struct {
	// Shared compares systems although pollers shared a CPU, which says
	// nothing about the guests: for tests of the kit itself.
	Shared bool
	// LineRate is the wire's, in bits a second; 0 where it has none.
	LineRate float64
}

// Judge says what a run's trials mean.
func Judge(run results.Run, trials []results.Trial, rules Rules) Verdict {
	points := judgePoints(run, trials, rules)
	var pairs []pair
	for i, a := range points {
		for _, b := range points[i+1:] {
			if a.Size == b.Size && !isCeiling(a.System) && !isCeiling(b.System) {
				pairs = append(pairs, pair{
					a: a, b: b, nameA: a.System.String(), nameB: b.System.String(),
					shared: shared(run) && !rules.Shared,
				})
			}
		}
	}
	v := Verdict{Points: points}
	v.Comparisons, v.Family = compare(pairs)
	return v
}

// Measured is a run with its trials.
type Measured struct {
	Run    results.Run
	Trials []results.Trial
}

// Between compares two runs: each system at each size that both have. In its
// Comparisons A and B are the same system, A's rate is of the first run and
// B's of the second; its Points are empty, each run's own are [Judge]'s.
//
// The blocks of two runs were not interleaved, so that whatever changed on the
// machine between them is in the ratio, too: the Because of all that is compared
// says so. What bare changed by, which is no guest's doing, is given although it
// is not compared.
func Between(a, b Measured, rules Rules) Verdict {
	first, second := judgePoints(a.Run, a.Trials, rules), judgePoints(b.Run, b.Trials, rules)
	var pairs []pair
	for _, p := range first {
		for _, q := range second {
			if p.System == q.System && p.Size == q.Size {
				pairs = append(pairs, pair{
					a: p, b: q, nameA: "the first run", nameB: "the second run",
					shared: (shared(a.Run) || shared(b.Run)) && !rules.Shared, apart: true,
				})
			}
		}
	}
	var v Verdict
	v.Comparisons, v.Family = compare(pairs)
	return v
}

// shared says whether pollers shared a CPU.
func shared(run results.Run) bool { return run.Placement.Share == "cpu" }

// isCeiling says whether a system is there to show what the others could reach.
func isCeiling(s plan.System) bool { return s.Guest == bare.Name }
