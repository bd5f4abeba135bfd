package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reopen opens the folder of a run that ended early, to go on with it. What is
// damaged but for a last line that was cut off makes it impossible: nothing
// that was measured may be lost.
func Reopen(path string) (*Folder, Run, error) {
	f := &Folder{path: path}
	run, _, _, err := Load(path)
	if err != nil {
		return nil, run, fmt.Errorf("resume: %w", err)
	}
	if err := f.open(); err != nil { // takes a cut last line off
		return nil, run, fmt.Errorf("resume: %w", err)
	}
	_, trials, problems, err := Load(path)
	switch {
	case err == nil && len(problems) > 0:
		err = fmt.Errorf("%s is damaged: %s", path, strings.Join(problems, "; "))
	case err == nil:
		f.done = trials
		if err := f.writeCSVs(); err != nil { // which may have come to nothing
			return nil, run, errors.Join(fmt.Errorf("resume: %w", err), f.Close())
		}
		return f, run, nil
	}
	f.Close()
	return nil, run, fmt.Errorf("resume: %w", err)
}

// Changes says what of a run's plan, kit, images and machine is not as it was,
// a sentence each.
func Changes(was, now Run) []string {
	old, new := flat(was), flat(now)
	keys := slices.Sorted(maps.Keys(old))
	for k := range new {
		if _, ok := old[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var out []string
	for _, k := range keys {
		a, b := old[k], new[k]
		if a == b {
			continue
		}
		out = append(out, fmt.Sprintf("%s: it was %s, it is %s", k, orNothing(a), orNothing(b)))
	}
	return out
}

func orNothing(s string) string {
	if s == "" {
		return "not there"
	}
	return s
}

// flat are the values of what must not change between two parts of a run, by
// their names in run.json.
func flat(r Run) map[string]string {
	r.Machine = r.Machine.lasting()
	if r.Receiver != nil {
		there := r.Receiver.lasting()
		r.Receiver = &there
	}
	out := map[string]string{}
	for name, v := range map[string]any{
		"kit": r.Kit, "plan": r.Plan, "accel": r.Accel, "placement": r.Placement, "images": r.Images, "machine": r.Machine,
		"receiver": r.Receiver, "testbed": r.Testbed,
	} {
		b, err := json.Marshal(v)
		if err != nil {
			continue // of plain data: it can't be
		}
		var value any
		if json.Unmarshal(b, &value) == nil {
			flatten(out, name, value)
		}
	}
	return out
}

// lasting is what of a machine is the same at its next boot: the load may be
// another, and a kernel keeps some pages more or less to itself.
func (m Machine) lasting() Machine {
	m.Load = ""
	m.MemoryKB = (m.MemoryKB + 32<<10) >> 16
	return m
}

func flatten(out map[string]string, name string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		b, _ := json.Marshal(v)
		out[name] = string(b)
		return
	}
	for k, v := range m {
		flatten(out, name+"."+k, v)
	}
}
