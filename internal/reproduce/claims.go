package reproduce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/verdict"
)

// Answer is what a run says of a claim, or of a line of a checklist.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	InPart  Answer = "in part"
	CantSay Answer = "can't say"
)

// Claim is a sentence that the figure is read to say.
type Claim struct {
	Text   string   `json:"text"`
	Answer Answer   `json:"answer"`
	Shown  []string `json:"shown"` // what the run has for it, size by size
}

// about is how far a ratio may be from 1 where two rates differ "by about 1 %".
const about = 0.02

// claims asks the run's own verdicts, and nothing else, about the figure's.
func claims(run results.Run, v verdict.Verdict) []Claim {
	on := func(attachment string) (a, b plan.System) {
		return plan.System{Guest: "unikraft", Attachment: attachment}, plan.System{Guest: "linux-dpdk", Attachment: attachment}
	}
	uk, lx := on("vhost-user")
	matches := claim("Unikraft matches Linux with DPDK over vhost-user", uk, lx, []int{64, 128, 256, 512, 1024, 1500}, v,
		func(c verdict.Comparison) Answer {
			switch c.Outcome {
			case verdict.Equivalent:
				return Yes
			case verdict.Faster, verdict.Slower:
				return No
			}
			return CantSay
		})
	uk, lx = on("vhost-net")
	differs := claim("Over vhost-net, at 64 to 512 B, the two differ by about 1 % (here: by no more than 2 %)", uk, lx, []int{64, 128, 256, 512}, v,
		func(c verdict.Comparison) Answer {
			i := c.Interval
			switch {
			case c.Outcome == verdict.NotCompared || c.Outcome == "" || i == nil:
				return CantSay
			case i.Low >= 1-about && i.High <= 1+about:
				return Yes
			case i.High < 1-about || i.Low > 1+about:
				return No
			}
			return CantSay
		})
	return []Claim{matches, differs}
}

// claim asks about a pair of systems at some sizes. It holds where it holds at
// all of them, fails where it fails at one.
func claim(text string, a, b plan.System, sizes []int, v verdict.Verdict, ask func(verdict.Comparison) Answer) Claim {
	c := Claim{Text: text}
	count := map[Answer]int{}
	for _, size := range sizes {
		got, answer := find(v, a, b, size), CantSay
		words := "not measured in one run"
		if got != nil {
			answer = ask(*got)
			words = string(got.Outcome)
			if got.Ratio > 0 {
				words += ", ratio " + strconv.FormatFloat(got.Ratio, 'f', 4, 64)
			}
			if got.Interval != nil {
				words += fmt.Sprintf(" (%.4f to %.4f)", got.Interval.Low, got.Interval.High)
			}
			if got.Outcome == verdict.NotCompared || got.Outcome == verdict.Undecided {
				words += ": " + strings.TrimSuffix(got.Because, ".")
			}
		}
		count[answer]++
		c.Shown = append(c.Shown, fmt.Sprintf("%d B: %s", size, words))
	}
	switch {
	case count[No] > 0:
		c.Answer = No
	case count[Yes] == len(sizes):
		c.Answer = Yes
	case count[Yes] > 0:
		c.Answer = InPart
	default:
		c.Answer = CantSay
	}
	return c
}

// find is the comparison of two systems, A's first, whichever way round it was
// made.
func find(v verdict.Verdict, a, b plan.System, size int) *verdict.Comparison {
	i := slices.IndexFunc(v.Comparisons, func(c verdict.Comparison) bool {
		return c.Size == size && (c.A == a && c.B == b || c.A == b && c.B == a)
	})
	if i < 0 {
		return nil
	}
	c := v.Comparisons[i]
	if c.A == a {
		return &c
	}
	c.A, c.B = a, b
	switch c.Outcome {
	case verdict.Faster:
		c.Outcome = verdict.Slower
	case verdict.Slower:
		c.Outcome = verdict.Faster
	}
	if c.Ratio > 0 {
		c.Ratio = 1 / c.Ratio
	}
	if c.Interval != nil && c.Interval.Low > 0 {
		turned := *c.Interval
		turned.Low, turned.High = 1/c.Interval.High, 1/c.Interval.Low
		c.Interval = &turned
	}
	return &c
}
