package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Problem is something that is wrong with a part of a plan.
type Problem struct {
	Part string // its key in a plan's file, such as "max_trials"
	Text string // what is wrong, to stand behind the part's name
}

// most blocks that can be asked for.
const mostBlocks = 1000

// Check returns all that is wrong with the plan.
func (p Plan) Check() []Problem {
	var out []Problem
	wrong := func(part, format string, a ...any) { out = append(out, Problem{part, fmt.Sprintf(format, a...)}) }
	if len(p.Sizes) == 0 {
		wrong("sizes", "has none")
	}
	if p.Trials < 1 || p.Trials > mostBlocks {
		wrong("trials", "%d: 1 to %d blocks can be asked for", p.Trials, mostBlocks)
	}
	if p.Duration < time.Second || p.Duration > time.Hour {
		wrong("duration", "%v: the counters can be watched for 1s to 1h", p.Duration)
	}
	if p.Precision == 0 {
		return out
	}
	if p.Precision < 0.0001 || p.Precision > 0.5 {
		wrong("precision", "%s: 0.01%% to 50%% can be asked for", Percent(p.Precision))
	}
	switch {
	case p.MaxTrials < 1 || p.MaxTrials > mostBlocks:
		wrong("max_trials", "%d: 1 to %d blocks can be allowed", p.MaxTrials, mostBlocks)
	case p.MaxTrials < p.Trials:
		wrong("max_trials", "%d: fewer than the %d blocks that are measured in any case", p.MaxTrials, p.Trials)
	}
	if p.Trials >= 1 && p.Trials < Full {
		wrong("trials", "%d: a precision is looked for from %d blocks on, because fewer give no interval to stop at; leave trials out, or ask for %d or more", p.Trials, Full, Full)
	}
	return out
}

// ParsePrecision reads a share, "1%" or "0.01".
func ParsePrecision(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	// What strconv takes besides decimal digits (hexadecimal, inf, 1e3) is no
	// way to write a share.
	if err != nil || strings.Trim(strings.TrimSpace(number), "0123456789.") != "" {
		return 0, fmt.Errorf("%q is no share: write 1%%, 0.5%% or 0.01", text)
	}
	switch {
	case v == 0:
		return 0, fmt.Errorf("%s can't be reached: write 1%%, say", text)
	case percent:
		return v / 100, nil
	case v >= 1:
		return 0, fmt.Errorf("%s is %s of the rate: write %s%%, if that is what is meant", text, Percent(v), number)
	}
	return v, nil
}

// Percent writes a share such as 0.005 as 0.5%.
func Percent(share float64) string {
	// Of 0.07, times 100 is 7.000000000000001: six digits are enough.
	return strconv.FormatFloat(share*100, 'g', 6, 64) + "%"
}
