package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/stats"
)

const (
	// margin is within which share two rates are equivalent.
	margin = 0.01
	// level is the chance of even one false "faster" or "slower" among all
	// comparisons at most, and that of even one false "equivalent": each of
	// the two is a family of its own.
	level = 0.05
	// leastBoots is from how many boots of each system on two of them can
	// differ: of 5 and 5, all of one above all of the other has a chance of
	// 2 in 252, which stands the correction over six sizes.
	leastBoots = 5
)

// pair is two points that may be compared.
type pair struct {
	a, b         Point
	nameA, nameB string
	shared       bool // pollers shared a CPU, and that counts
	apart        bool // of two runs
}

// compare compares what can be compared, each at the level that is left after
// the correction over all of it, once for what differs and once for what is
// equivalent, and says over what that was.
func compare(pairs []pair) ([]Comparison, string) {
	comparisons := make([]Comparison, len(pairs))
	var compared []int
	var differ, equivalent []float64
	for i, p := range pairs {
		c := &comparisons[i]
		*c = Comparison{A: p.a.System, B: p.b.System, Size: p.a.Size, Outcome: NotCompared, Because: p.whyNot()}
		if c.Because != "" {
			if p.apart && isCeiling(p.a.System) && len(p.a.Rates) > 0 && len(p.b.Rates) > 0 {
				c.Ratio, c.Interval = p.ratio()
			}
			continue
		}
		c.Ratio, c.Interval = p.ratio()
		compared = append(compared, i)
		differ = append(differ, stats.RankTest(p.a.Rates, p.b.Rates).Differ)
		equivalent = append(equivalent, p.equivalent())
	}
	differ, equivalent = stats.Holm(differ), stats.Holm(equivalent)
	for k, i := range compared {
		c := &comparisons[i]
		c.P, c.PEquivalent = differ[k], equivalent[k]
		c.Outcome = outcome(*c)
		c.Because = pairs[i].because(*c)
	}
	return comparisons, family(comparisons)
}

// outcome is what the corrected tests show. What is shown to differ, but by less
// than the margin, is equivalent.
func outcome(c Comparison) Outcome {
	switch {
	case c.PEquivalent <= level:
		return Equivalent
	case c.P > level:
		return Undecided
	case c.Ratio > 1:
		return Faster
	default:
		return Slower
	}
}

// whyNot is why a pair can't be compared, "" where it can.
func (p pair) whyNot() string {
	boots := []int{len(p.a.Rates), len(p.b.Rates)}
	switch {
	case boots[0] == 0:
		return p.nameA + " gave no rate"
	case boots[1] == 0:
		return p.nameB + " gave no rate"
	case slices.Min(boots) == 1:
		return "one boot: no verdict"
	case isCeiling(p.a.System):
		return "bare is no guest but the ceiling: what it changed by, the machine changed by"
	case p.shared:
		return "pollers shared a CPU: the rates say nothing about the guests"
	case p.a.LimitedBy != Guest:
		return limited(p.nameA, p.a)
	case p.b.LimitedBy != Guest:
		return limited(p.nameB, p.b)
	case slices.Min(boots) < leastBoots:
		return fmt.Sprintf("%d and %s: a verdict takes %d of each", boots[0], count(boots[1], "boot"), leastBoots)
	}
	return ""
}

func limited(name string, p Point) string {
	if p.LimitedBy == Unknown {
		return fmt.Sprintf("what limits %s is unknown: %s", name, p.Because)
	}
	return fmt.Sprintf("%s is limited by the %s, not by the guest: %s", name, p.LimitedBy, p.Because)
}

// ratio has no interval where modes differ: it would be that of a shift of the
// one against the other, and modes don't shift.
func (p pair) ratio() (float64, *stats.Interval) {
	ratio, interval := stats.Ratio(p.a.Rates, p.b.Rates, stats.Confidence)
	if p.modal() {
		interval = nil
	}
	return ratio, interval
}

// equivalent is the level at which the two are equivalent; 1 where modes differ,
// for the same reason.
func (p pair) equivalent() float64 {
	if p.modal() {
		return 1
	}
	return stats.Equivalent(p.a.Rates, p.b.Rates, margin)
}

func (p pair) modal() bool { return p.a.Modes != nil || p.b.Modes != nil }

// because says in words what the tests found.
func (p pair) because(c Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.4g times the rate of %s", c.Ratio, p.nameB)
	if c.Interval != nil {
		fmt.Fprintf(&b, " (%.4g to %.4g at %g %%)", c.Interval.Low, c.Interval.High, 100*c.Interval.Confidence)
	}
	boots := fmt.Sprintf("%d and %s", len(p.a.Rates), count(len(p.b.Rates), "boot"))
	switch c.Outcome {
	case Faster, Slower:
		fmt.Fprintf(&b, ", p = %.2g from %s", c.P, boots)
	case Equivalent:
		fmt.Fprintf(&b, ", equivalent within 1 %%: p = %.2g from %s", c.PEquivalent, boots)
		if c.P <= level {
			fmt.Fprintf(&b, "; they do differ (p = %.2g), by less than that", c.P)
		}
	default:
		fmt.Fprintf(&b, ": %s show neither a difference (p = %.2g) nor equivalence within 1 %% (p = %.2g)", boots, c.P, c.PEquivalent)
	}
	for _, side := range []struct {
		name string
		p    Point
	}{{p.nameA, p.a}, {p.nameB, p.b}} {
		if side.p.Modes != nil {
			fmt.Fprintf(&b, "; the modes of %s differ: %s", side.name, modesInWords(side.p.Modes))
		}
		if side.p.Unsteady > 0 {
			fmt.Fprintf(&b, "; %s of %s left out", count(side.p.Unsteady, "unsteady trial"), side.name)
		}
	}
	if p.apart {
		b.WriteString("; the two runs were not interleaved: what changed on the machine between them is in the ratio")
	}
	return b.String()
}

// family says over what the tests were corrected.
func family(comparisons []Comparison) string {
	var pairs []string
	at := map[string][]string{} // the sizes of each pair
	n := 0
	for _, c := range comparisons {
		if c.Outcome == NotCompared {
			continue
		}
		n++
		name := c.A.String()
		if c.B != c.A {
			name += " with " + c.B.String()
		}
		if at[name] == nil {
			pairs = append(pairs, name)
		}
		at[name] = append(at[name], strconv.Itoa(c.Size))
	}
	for i, name := range pairs {
		pairs[i] = name + " at " + strings.Join(at[name], ", ") + " B"
	}
	switch n {
	case 0:
		return "nothing was compared"
	case 1:
		return "one comparison, nothing to correct: " + pairs[0]
	}
	return fmt.Sprintf("Holm over %d comparisons: %s", n, strings.Join(pairs, "; "))
}
