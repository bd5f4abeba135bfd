package progress

import (
	"fmt"
	"strings"
	"time"

	"sweep/internal/plan"
	"sweep/internal/report"
	"sweep/internal/results"
)

// Announce says what a plan is and how long it takes.
func Announce(p plan.Plan, now time.Time) string {
	return announce(p, part{}, p.Trials, p.Expected(p.MostBlocks()), now)
}

// announce says it of a run whose first boot begins. One that is resumed goes on
// at least to the end of the block that it is in.
func (s *State) announce(now time.Time) string {
	there := part{trials: s.before, boots: s.first.Number - 1}
	return announce(s.plan, there, max(s.plan.Trials, s.first.Round), s.Left(now), now)
}

// part is what of a plan is there already.
type part struct{ trials, boots int }

// announce says what a plan of so many blocks at least is, of which a part is
// there and the rest takes so long at most.
func announce(p plan.Plan, there part, least int, longest time.Duration, now time.Time) string {
	most := p.MostBlocks()
	boots, trials := len(p.Systems), len(p.Systems)*len(p.Sizes)
	long := longest - p.Expected(most-least)
	until := ""
	if p.Precision > 0 {
		until = fmt.Sprintf(", until each interval is within %s", plan.Percent(p.Precision))
	}
	takes, end := "about "+roughly(long), "until about "+clock(now, long)
	if most > least {
		takes, end = "about "+roughly(long)+" to "+roughly(longest), "until about "+clock(now, longest)+" at the latest"
	}
	already := ""
	if there.trials > 0 {
		already = counted(there.trials, "trial") + " there already, "
	}
	return fmt.Sprintf("%s of %s at %s%s: %s%s in %s, %s, %s",
		span(least, most, "block"), counted(boots, "system"), counted(len(p.Sizes), "size"), until, already,
		span(least*trials-there.trials, most*trials-there.trials, "trial"),
		span(least*boots-there.boots, most*boots-there.boots, "boot"), takes, end)
}

func counted(n int, what string) string { return span(n, n, what) }

// span is "1 block", "7 blocks" or "7 to 30 blocks".
func span(least, most int, what string) string {
	if most != 1 {
		what += "s"
	}
	if least != most {
		return fmt.Sprintf("%d to %d %s", least, most, what)
	}
	return fmt.Sprintf("%d %s", most, what)
}

// roughly is a duration as exact as an expected one is: 40 s, 3 min 20 s,
// 34 min, 2 h 26 min.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "10 s"
	case d <= 55*time.Second:
		return fmt.Sprintf("%d s", up(d, 5*time.Second)/time.Second)
	case d <= 10*time.Minute-10*time.Second:
		d = up(d, 10*time.Second)
		if d%time.Minute == 0 {
			return fmt.Sprintf("%d min", d/time.Minute)
		}
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d <= 59*time.Minute:
		return fmt.Sprintf("%d min", up(d, time.Minute)/time.Minute)
	}
	d = up(d, time.Minute)
	return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
}

// up rounds up.
func up(d, to time.Duration) time.Duration { return (d + to - 1) / to * to }

// clock is the time of day that it will be, with the day where it is another.
func clock(now time.Time, in time.Duration) string {
	then := now.Add(in)
	layout := "15:04"
	switch days := then.Sub(now) / (24 * time.Hour); {
	case days > 5:
		layout = "2 Jan 15:04"
	case then.YearDay() != now.YearDay():
		layout = "Mon 15:04"
	}
	return then.Format(layout)
}

// left says how long the run still takes.
func (s *State) left(now time.Time) string {
	left := s.Left(now)
	switch {
	case s.plan.Precision > 0 && left > 0:
		return fmt.Sprintf("up to %s left, until %s", roughly(left), clock(now, left))
	case left < 10*time.Second:
		return "nearly done"
	}
	return fmt.Sprintf("about %s left, until %s", roughly(left), clock(now, left))
}

// of is "2 of 7", or "2 of up to 30" where it is not known how many there will
// be.
func (s *State) of(n, each int) string {
	if s.plan.Precision > 0 && s.plan.MaxTrials > s.plan.Trials {
		return fmt.Sprintf("%d of up to %d", n, s.plan.MaxTrials*each)
	}
	return fmt.Sprintf("%d of %d", n, s.plan.MostBlocks()*each)
}

// block is where the run is, in blocks.
func (s *State) block() string {
	round := s.round + 1
	if s.boot != nil {
		round = s.boot.Round
	}
	return "block " + s.of(min(round, s.plan.MostBlocks()), 1)
}

// bootLine says that a boot begins.
func (s *State) bootLine(now time.Time) string {
	block := ""
	if s.plan.MostBlocks() > 1 {
		block = " (" + s.block() + ")"
	}
	return fmt.Sprintf("boot %s%s: %s comes up; %s", s.of(s.boot.Number, len(s.plan.Systems)), block, s.boot.System, s.left(now))
}

// endLine says how a trial ended.
func endLine(t results.Trial) string {
	if t.Error != "" {
		return fmt.Sprintf("%s %d B: failed: %s", t.System, t.Size, t.Error)
	}
	return fmt.Sprintf("%s %d B: %s Mpps", t.System, t.Size, report.Mpps(t.RxPps, t.RxError))
}

// blockLine says what a block did for the precision that is wanted; serious is
// whether the run ends without it. It is empty where there is nothing to say.
func (s *State) blockLine(now time.Time) (line string, serious bool) {
	p := s.plan
	if p.Precision == 0 || s.round < p.Trials {
		return "", false
	}
	within := plan.Percent(p.Precision)
	if len(s.wide) == 0 {
		return fmt.Sprintf("after %s every interval is within %s", counted(s.round, "block"), within), false
	}
	wide := fmt.Sprintf("not within %s: %d of %s", within, len(s.wide), counted(len(s.cells), "point"))
	if s.last() {
		return fmt.Sprintf("warning: after %s, the most that were allowed, %s (%s)", counted(s.round, "block"), wide, strings.Join(s.wide, ", ")), true
	}
	return fmt.Sprintf("after %s %s; %s", counted(s.round, "block"), wide, s.left(now)), false
}

// summary says what the run took.
func (s *State) summary(now time.Time) string {
	if s.first == nil && s.before > 0 && s.last() {
		return fmt.Sprintf("nothing was left to measure: %s there already", counted(s.before, "trial"))
	}
	return fmt.Sprintf("%s in %s took %v", counted(s.trials, "trial"), counted(s.boots, "boot"), now.Sub(s.began).Round(time.Second))
}
