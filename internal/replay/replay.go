// Package replay works a run's numbers out again from what was recorded of it,
// without the hardware, and says what differs from what the run said.
package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/tape"
	"sweep/internal/testpmd"
)

// Outcome is what a replay found.
type Outcome struct {
	Trials int // worked out again
	Looks  int // counters' readings that they were worked out from
	Shows  int // statistics that testpmd printed, found in its console's transcript
	// Differences are what is not as the run said, a sentence each; none where
	// every number is the same to the last digit.
	Differences []string
}

func (o *Outcome) differ(format string, a ...any) {
	o.Differences = append(o.Differences, fmt.Sprintf(format, a...))
}

// Run replays a run's folder. The error is for what can't be read at all.
func Run(path string) (Outcome, error) {
	var o Outcome
	run, trials, problems, err := results.Load(path)
	if err != nil {
		return o, err
	}
	if run.Imported != "" {
		return o, fmt.Errorf("%s can't be replayed: it was imported (%s), and what it was measured from was not recorded", path, run.Imported)
	}
	tapes, damaged, err := results.LoadTapes(path)
	if err != nil {
		return o, err
	}
	o.Differences = append(problems, damaged...)
	recorded := map[plan.Trial]*tape.Tape{}
	for _, t := range tapes {
		recorded[t.Trial] = t
	}
	o.complete(run.Plan, trials)
	again := make([]results.Trial, 0, len(trials))
	for _, t := range trials {
		rec, ok := recorded[t.Trial]
		if !ok {
			o.differ("%s has no tape", name(t.Trial))
			continue
		}
		delete(recorded, t.Trial)
		new := t
		new.Judge(rec)
		o.Trials++
		o.Looks += len(rec.Looks)
		if err := o.compare(t, new); err != nil {
			return o, err
		}
		o.setUp(run, rec)
		if err := o.consoles(path, rec); err != nil {
			return o, err
		}
		again = append(again, new)
	}
	for i, t := range tapes {
		// A run may have been killed between the last tape's end and its trial.
		if recorded[t.Trial] != nil && i < len(tapes)-1 {
			o.differ("%s was recorded, and is not among the trials", name(t.Trial))
		}
	}
	return o, o.published(path, again)
}

// complete looks for trials that the plan has and the record lacks, up to the
// last block that was begun: that one may have been ended early.
func (o *Outcome) complete(p plan.Plan, trials []results.Trial) {
	there := map[plan.Trial]bool{}
	last := 0
	for _, t := range trials {
		there[t.Trial] = true
		last = max(last, t.Round)
	}
	for round := 1; round < last; round++ {
		for _, b := range p.Block(round) {
			for _, t := range b.Trials {
				if !there[t] {
					o.differ("%s is in the plan, and neither measured nor failed", name(t))
				}
			}
		}
	}
}

// setUp holds what a tape says of the set-up against run.json. The tape of a
// trial whose boot never came up has none of it.
func (o *Outcome) setUp(run results.Run, rec *tape.Tape) {
	if len(rec.Looks) == 0 {
		return
	}
	if shared := run.Placement.Share == "cpu"; rec.Shared != shared {
		o.differ("%s: pollers shared a CPU: %t by run.json, %t by its tape", name(rec.Trial), shared, rec.Shared)
	}
	if rec.Duration != run.Plan.Duration {
		o.differ("%s: its window was to be %v by run.json, %v by its tape", name(rec.Trial), run.Plan.Duration, rec.Duration)
	}
}

func name(t plan.Trial) string {
	return fmt.Sprintf("%s at %d B in boot %d", t.System, t.Size, t.Boot)
}

// compare says in which of its values a trial differs from what its tape says.
func (o *Outcome) compare(was, now results.Trial) error {
	a, err := fields(was)
	if err != nil {
		return err
	}
	b, err := fields(now)
	if err != nil {
		return err
	}
	var keys []string
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if string(a[k]) != string(b[k]) {
			o.differ("%s: %s is %s in the record, and %s by its tape", name(was.Trial), k, orNothing(a[k]), orNothing(b[k]))
		}
	}
	return nil
}

func fields(t results.Trial) (map[string]json.RawMessage, error) {
	b, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(b, &out)
}

func orNothing(b json.RawMessage) string {
	if len(b) == 0 {
		return "not there"
	}
	return string(b)
}

// consoles looks for what the tape has of testpmd's printed statistics in the
// transcript of the client's console, where anybody can read it.
func (o *Outcome) consoles(path string, rec *tape.Tape) error {
	if len(rec.Shows) == 0 {
		return nil
	}
	// Where a run was resumed in the middle of a boot there are several.
	logs, err := os.ReadDir(filepath.Join(path, "console"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ofClient := regexp.MustCompile(fmt.Sprintf(`^%03d-.*-client(\.\d+)?\.log$`, rec.Boot))
	var blocks []testpmd.Block
	for _, log := range logs {
		if !ofClient.MatchString(log.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(path, "console", log.Name()))
		if err != nil {
			return err
		}
		blocks = append(blocks, testpmd.Parse(text).Blocks...)
	}
	for _, s := range rec.Shows {
		found := slices.ContainsFunc(blocks, func(b testpmd.Block) bool {
			return is(b.RxPackets, s.Packets) && is(b.RxBytes, s.Bytes) && (s.ShownPps == nil || is(b.RxPps, *s.ShownPps))
		})
		if !found {
			o.differ("%s: the console of the client does not show %d packets, %d bytes", name(rec.Trial), s.Packets, s.Bytes)
			continue
		}
		o.Shows++
	}
	return nil
}

func is(v *uint64, want uint64) bool { return v != nil && *v == want }

// published compares the files in the published format.
func (o *Outcome) published(path string, trials []results.Trial) error {
	for _, s := range systems(trials) {
		file := s.FileName() + ".csv"
		got, err := os.ReadFile(filepath.Join(path, file))
		if errors.Is(err, os.ErrNotExist) {
			o.differ("%s is missing", file)
			continue
		}
		if err != nil {
			return err
		}
		if want := results.Published(trials, s); strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
			o.differ("%s is not what the trials say", file)
		}
	}
	return nil
}

func systems(trials []results.Trial) []plan.System {
	var out []plan.System
	for _, t := range trials {
		if !slices.Contains(out, t.System) {
			out = append(out, t.System)
		}
	}
	return out
}
