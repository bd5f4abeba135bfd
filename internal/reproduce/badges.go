package reproduce

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/verdict"
)

// Badge is one of those that ACM gives to artifacts (Artifact Review and
// Badging, version 1.1), with what a reviewer asks for it.
type Badge struct {
	Name  string `json:"name"`
	Lines []Line `json:"lines"`
}

// Line is a line of a reviewer's checklist, with what the run shows for it.
type Line struct {
	Asked  string `json:"asked"`
	Answer Answer `json:"answer"`
	Shown  string `json:"shown"`
}

// most is how many of a list are named.
const most = 5

func badges(r Report, run results.Run, trials []results.Trial, v verdict.Verdict, e Evidence) []Badge {
	return []Badge{
		{"available", []Line{
			{"the kit and this record are in a public archive, under a name that lasts", CantSay, "`sweep bundle` makes the archive's file; where it lies is for the reviewer to look up"},
			kitLine(run), imageLine(run),
		}},
		{"functional", []Line{
			systemsLine(run, trials), trialsLine(run, trials), ledgerLine(trials), sizeLine(trials), findingsLine(trials), replayLine(e), machineLine(run),
		}},
		{"reproduced", append([]Line{bootsLine(run, v), pointsLine(r)}, claimLines(r.Claims)...)},
	}
}

func kitLine(run results.Run) Line {
	l := Line{Asked: "the record names the kit's version", Answer: Yes, Shown: run.Kit}
	switch {
	case run.Kit == "" || run.Kit == "unknown":
		l.Answer, l.Shown = No, "it names none"
	case strings.Contains(run.Kit, "dirty"):
		l.Answer, l.Shown = InPart, run.Kit+": with changes that nobody wrote down"
	}
	return l
}

func imageLine(run results.Run) Line {
	l := Line{Asked: "the guests' images are named by checksums", Answer: Yes}
	var with, without []string
	for _, name := range slices.Sorted(maps.Keys(run.Images)) {
		if i := run.Images[name]; i.KernelSHA256 == "" || i.Initrd != "" && i.InitrdSHA256 == "" {
			without = append(without, name)
		} else {
			with = append(with, name)
		}
	}
	switch {
	case len(run.Images) == 0:
		l.Answer, l.Shown = CantSay, "the record names no image"
	case len(without) > 0:
		l.Answer, l.Shown = No, "not those of "+list(without)
	default:
		l.Shown = list(with)
	}
	return l
}

func systemsLine(run results.Run, trials []results.Trial) Line {
	l := Line{Asked: "every system ran", Answer: Yes}
	rated := map[plan.System]bool{}
	for _, t := range trials {
		if t.Error == "" && t.RxPps > 0 {
			rated[t.System] = true
		}
	}
	var ran, not []string
	for _, s := range run.Plan.Systems {
		if rated[s] {
			ran = append(ran, s.String())
		} else {
			not = append(not, s.String()+" (no trial gave a rate)")
		}
	}
	for _, s := range run.Skipped {
		not = append(not, s.System.String()+" ("+s.Why+")")
	}
	switch {
	case len(ran) == 0:
		l.Answer, l.Shown = No, "none did"
	case len(not) > 0:
		l.Answer, l.Shown = InPart, list(ran)+"; not "+list(not)
	default:
		l.Shown = list(ran)
	}
	return l
}

func trialsLine(run results.Run, trials []results.Trial) Line {
	l := Line{Asked: "every trial of the plan ended with a rate", Answer: Yes}
	planned := blocks(run, trials) * len(run.Plan.Systems) * len(run.Plan.Sizes)
	good := 0
	var why []string
	for _, t := range trials {
		if t.Error == "" {
			good++
		} else if w := fmt.Sprintf("%s %d B: %s", t.System, t.Size, t.Error); !slices.Contains(why, w) {
			why = append(why, w)
		}
	}
	l.Shown = fmt.Sprintf("%d of %d", good, max(planned, len(trials)))
	switch {
	case good == 0:
		l.Answer = No
	case good < max(planned, len(trials)):
		l.Answer = InPart
	}
	if len(why) > 0 {
		l.Shown += "; " + list(why)
	}
	return l
}

// blocks is how many the plan has; a run with a precision adds to it.
func blocks(run results.Run, trials []results.Trial) int {
	n := run.Plan.Trials
	for _, t := range trials {
		n = max(n, t.Round)
	}
	return n
}

func ledgerLine(trials []results.Trial) Line {
	l := Line{Asked: "the counters of every hop add up, with a residual of 0 packets", Answer: Yes}
	with, without := 0, 0
	var wrong []string
	for _, t := range rated(trials) {
		if t.Ledger == nil {
			without++
			continue
		}
		with++
		if r := t.Ledger.Residual(); r != (audit.Residual{}) {
			wrong = append(wrong, fmt.Sprintf("%s %d B, boot %d: %d at the attachment, %d in the forwarder, %d on the wire", t.System, t.Size, t.Boot, r.Attachment, r.Forwarder, r.Wire))
		}
	}
	switch {
	case with == 0:
		l.Answer, l.Shown = CantSay, "no trial has a ledger"
	case len(wrong) > 0:
		l.Answer, l.Shown = No, fmt.Sprintf("%d of %d trials: %s", len(wrong), with, list(wrong))
	case without > 0:
		l.Answer, l.Shown = InPart, fmt.Sprintf("%d trials; %d have no ledger", with, without)
	default:
		l.Shown = fmt.Sprintf("%d trials", with)
	}
	return l
}

func sizeLine(trials []results.Trial) Line {
	l := Line{Asked: "the frames that arrived are of the size that was asked for", Answer: Yes}
	with, without := 0, 0
	var wrong []string
	for _, t := range rated(trials) {
		switch {
		case t.BytesPerPacket == 0:
			without++
			continue
		case math.Abs(t.BytesPerPacket-float64(t.Size)) > 1e-9:
			wrong = append(wrong, fmt.Sprintf("%s %d B: %.2f B", t.System, t.Size, t.BytesPerPacket))
		}
		with++
	}
	switch {
	case with == 0:
		l.Answer, l.Shown = CantSay, "no trial says what arrived"
	case len(wrong) > 0:
		l.Answer, l.Shown = No, list(wrong)
	case without > 0:
		l.Answer, l.Shown = InPart, fmt.Sprintf("%d trials; of %d nobody knows", with, without)
	default:
		l.Shown = fmt.Sprintf("%d trials, to the byte", with)
	}
	return l
}

// findingsLine is about all that the audits found beside what holds of the
// whole machine, which the points say.
func findingsLine(trials []results.Trial) Line {
	l := Line{Asked: "the audits found nothing against the rates", Answer: Yes, Shown: fmt.Sprintf("%d trials", len(rated(trials)))}
	count := map[string]int{}
	for _, t := range rated(trials) {
		for _, f := range t.Findings {
			if f.Kind != audit.Caveat {
				count[f.Text]++
			}
		}
	}
	var texts []string
	for _, text := range slices.Sorted(maps.Keys(count)) {
		texts = append(texts, fmt.Sprintf("%s (%d)", text, count[text]))
	}
	switch {
	case !slices.ContainsFunc(rated(trials), func(t results.Trial) bool { return t.Ledger != nil }):
		l.Answer, l.Shown = CantSay, "no trial was audited"
	case len(texts) > 0:
		l.Answer, l.Shown = InPart, list(texts)
	}
	return l
}

func replayLine(e Evidence) Line {
	l := Line{Asked: "the numbers follow again from the raw readings", Answer: Yes, Shown: "`sweep replay` gives every one, to the last digit"}
	switch {
	case len(e.Differ) > 0:
		l.Answer, l.Shown = No, list(e.Differ)
	case !e.Replayed:
		l.Answer, l.Shown = CantSay, "not tried here: `sweep replay` works them out again"
	}
	return l
}

func machineLine(run results.Run) Line {
	m := run.Machine
	if m.CPU == "" || m.Kernel == "" {
		return Line{"the machine is on record", No, "the record has no CPU or no kernel"}
	}
	return Line{"the machine is on record", Yes, fmt.Sprintf("%s, %d CPUs, Linux %s, %s", m.CPU, m.CPUs, m.Kernel, m.OS)}
}

// enough boots for an exact rank test to stand a correction over six sizes times
// six pairs, and for a 95 % interval of a median.
const enough = 7

// bootsLine is about the boots that gave a rate, of the planned point that has
// fewest.
func bootsLine(run results.Run, v verdict.Verdict) Line {
	least, where := math.MaxInt, ""
	for _, system := range run.Plan.Systems {
		for _, size := range run.Plan.Sizes {
			n := 0
			for _, p := range v.Points {
				if p.System == system && p.Size == size {
					n = len(p.Rates)
				}
			}
			if n < least {
				least, where = n, fmt.Sprintf("%s %d B", system, size)
			}
		}
	}
	l := Line{Asked: "each point has enough boots for an interval and a verdict", Answer: Yes, Shown: fmt.Sprintf("%d or more with a rate", least)}
	switch {
	case where == "":
		l.Answer, l.Shown = CantSay, "the record has no plan"
	case least < enough:
		l.Answer, l.Shown = No, fmt.Sprintf("%s has %d with a rate, of the %d that a verdict takes (`./sweep --full`)", where, least, enough)
	}
	return l
}

func pointsLine(r Report) Line {
	good, bad, none := r.Count(Reproduced), r.Count(NotReproduced), r.Count(NotComparable)
	l := Line{Asked: "the figure's points are reproduced", Shown: fmt.Sprintf("%d reproduced, %d not reproduced, %d not comparable, of %d", good, bad, none, len(r.Points))}
	switch {
	case good == 0 && bad == 0:
		l.Answer = CantSay
	case good == 0:
		l.Answer = No
	case bad+none > 0:
		l.Answer = InPart
	default:
		l.Answer = Yes
	}
	return l
}

func claimLines(claims []Claim) []Line {
	var out []Line
	for _, c := range claims {
		out = append(out, Line{c.Text, c.Answer, strings.Join(c.Shown, "; ")})
	}
	return out
}

func rated(trials []results.Trial) []results.Trial {
	var out []results.Trial
	for _, t := range trials {
		if t.Error == "" {
			out = append(out, t)
		}
	}
	return out
}

// list names the first of some things.
func list(items []string) string {
	if len(items) > most {
		return strings.Join(items[:most], "; ") + fmt.Sprintf("; and %d more", len(items)-most)
	}
	return strings.Join(items, "; ")
}
