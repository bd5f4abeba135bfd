package report

import (
	"fmt"
	"strconv"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/verdict"
)

// Verdicts are a verdict's comparisons in sentences, a line each: what was
// decided first, then what could not be, then what was not compared. Lines that
// go with the one above are indented. There are none where there is nothing to
// compare.
func Verdicts(v verdict.Verdict) []string {
	if len(v.Comparisons) == 0 {
		return nil
	}
	compared, not := sentences(v)
	out := []string{heading(len(compared)) + ":"}
	for _, s := range append(compared, not...) {
		out = append(out, "  "+s)
	}
	if len(compared) > 0 && v.Family != "" {
		out = append(out, "  corrected: "+v.Family)
	}
	return out
}

// heading is that of a verdict's sentences.
func heading(compared int) string {
	if compared == 0 {
		return "No two systems were compared"
	}
	return "Verdicts"
}

// sentences are a verdict's comparisons: those that were made, and those that
// were not.
func sentences(v verdict.Verdict) (compared, not []string) {
	pair := func(c verdict.Comparison) string { return c.A.String() + " " + c.B.String() }
	for _, outcome := range []verdict.Outcome{verdict.Faster, verdict.Slower, verdict.Equivalent, verdict.Undecided} {
		for _, group := range alike(v.Comparisons, outcome, pair) {
			compared = append(compared, sentence(group))
		}
	}
	for _, group := range alike(v.Comparisons, verdict.NotCompared, func(c verdict.Comparison) string { return reason(c.Because) }) {
		why := group[0].Because
		for _, c := range group {
			if c.Because != why {
				why = reason(why) // their figures differ
			}
		}
		not = append(not, "not compared, because "+strings.TrimSuffix(why, ".")+": "+pairs(group))
	}
	return compared, not
}

// reason is the part of a sentence before its figures.
func reason(because string) string {
	head, _, _ := strings.Cut(because, ": ")
	return head
}

// alike are the comparisons with an outcome, those with the same key together.
func alike(all []verdict.Comparison, outcome verdict.Outcome, key func(verdict.Comparison) string) [][]verdict.Comparison {
	var keys []string
	groups := map[string][]verdict.Comparison{}
	for _, c := range all {
		if c.Outcome != outcome {
			continue
		}
		k := key(c)
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], c)
	}
	out := make([][]verdict.Comparison, len(keys))
	for i, k := range keys {
		out[i] = groups[k]
	}
	return out
}

// sentence says how two systems compare, at all sizes with the same outcome.
func sentence(group []verdict.Comparison) string {
	a, b := group[0].A, group[0].B
	var text string
	switch group[0].Outcome {
	case verdict.Faster, verdict.Slower:
		text = fmt.Sprintf("%s is %s than %s", a, group[0].Outcome, b)
	case verdict.Equivalent:
		text = fmt.Sprintf("%s and %s are equivalent, within 1 %%,", a, b)
	default:
		text = fmt.Sprintf("%s and %s: undecided", a, b)
	}
	at := make([]string, len(group))
	for i, c := range group {
		at[i] = strconv.Itoa(c.Size) + " B" + ratio(c)
	}
	return text + " at " + strings.Join(at, ", ")
}

// ratio is a comparison's ratio, in brackets.
func ratio(c verdict.Comparison) string {
	if c.Ratio == 0 {
		return ""
	}
	text := " (" + times(c.Ratio) + " times"
	if c.Interval != nil {
		text += ", " + times(c.Interval.Low) + " to " + times(c.Interval.High)
	}
	return text + ")"
}

// times writes a ratio to a thousandth of it or so.
func times(r float64) string {
	decimals := 3 - place(r)
	if r < 1 {
		decimals--
	}
	return strconv.FormatFloat(r, 'f', max(decimals, 0), 64)
}

// pairs lists what was compared, the sizes of a pair together.
func pairs(group []verdict.Comparison) string {
	type pair struct{ a, b plan.System }
	var order []pair
	sizes := map[pair][]string{}
	for _, c := range group {
		p := pair{c.A, c.B}
		if sizes[p] == nil {
			order = append(order, p)
		}
		sizes[p] = append(sizes[p], strconv.Itoa(c.Size))
	}
	out := make([]string, len(order))
	for i, p := range order {
		out[i] = p.a.String() + " with " + p.b.String() + " at " + strings.Join(sizes[p], ", ") + " B"
	}
	return strings.Join(out, "; ")
}
