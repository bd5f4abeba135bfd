package results

import (
	"strconv"
	"strings"

	"sweep/internal/plan"
)

// Difference is something beside the guest in which the systems of a run
// differ: a reason for their rates to differ that is none of the guests' merit.
type Difference struct {
	What   string
	Values []Value // in the order in which the systems first came
}

// Value is what a system has.
type Value struct {
	System plan.System
	Value  string // "?" where nobody said
}

// Differences compares how the systems of a run were set up.
func Differences(trials []Trial) []Difference {
	var systems []plan.System
	of := map[plan.System]Settings{}
	for _, t := range trials {
		// A trial that failed before its bench stood has no settings.
		if _, ok := of[t.System]; ok || t.Settings.Accel == "" {
			continue
		}
		systems = append(systems, t.System)
		of[t.System] = t.Settings
	}
	var out []Difference
	for _, what := range []struct {
		name  string
		value func(Settings) string
	}{
		{"virtual CPUs", func(s Settings) string { return strconv.Itoa(s.VCPUs) }},
		{"CPU model", func(s Settings) string { return s.CPUModel }},
		{"accelerator", func(s Settings) string { return s.Accel }},
		{"memory, MiB", func(s Settings) string { return strconv.Itoa(s.MemoryMiB) }},
		{"CPU it is bound to", func(s Settings) string { return strconv.Itoa(s.GuestCPU) }},
		{"ring, descriptors", func(s Settings) string { return strconv.Itoa(s.Queue) }},
		{"descriptors a packet", func(s Settings) string { return said(s.Guest, "descriptors_a_packet") }},
		{"packets handed to the driver at a time", func(s Settings) string { return said(s.Guest, "packets_a_call") }},
		{"negotiated features, offloads among them", func(s Settings) string {
			if len(s.Features) == 0 {
				return "?"
			}
			return strings.Join(s.Features, " ")
		}},
	} {
		d := Difference{What: what.name}
		differs := false
		for _, s := range systems {
			v := what.value(of[s])
			d.Values = append(d.Values, Value{s, v})
			differs = differs || v != d.Values[0].Value
		}
		if differs {
			out = append(out, d)
		}
	}
	return out
}

// said is what a guest says of itself, in KEY=VALUE words.
func said(about, key string) string {
	for word := range strings.FieldsSeq(about) {
		if k, v, ok := strings.Cut(word, "="); ok && k == key {
			return v
		}
	}
	return "?"
}

// NotRun says which systems could not run, those with the same reason in one
// line.
func NotRun(skipped []Skipped) []string {
	var whys []string
	names := map[string][]string{}
	for _, s := range skipped {
		if names[s.Why] == nil {
			whys = append(whys, s.Why)
		}
		names[s.Why] = append(names[s.Why], s.System.String())
	}
	out := make([]string, len(whys))
	for i, why := range whys {
		out[i] = strings.Join(names[why], ", ") + ": " + why
	}
	return out
}
