// Package plan says what a run measures, in which order, before anything is
// started.
package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// System is a guest on an attachment: what one column of the table measures.
type System struct {
	Guest      string `json:"guest"`
	Attachment string `json:"attachment"`
}

func (s System) String() string { return s.Guest + "/" + s.Attachment }

// FileName is the system's name in the published data, such as
// linux-dpdk-vhost-user.
func (s System) FileName() string { return s.Guest + "-" + s.Attachment }

// MarshalText and UnmarshalText make a System its name in JSON and as a key.
func (s System) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *System) UnmarshalText(b []byte) error {
	guest, attachment, ok := strings.Cut(string(b), "/")
	if !ok {
		return fmt.Errorf("%q is no GUEST/ATTACHMENT", b)
	}
	*s = System{guest, attachment}
	return nil
}

// Known are the systems that the kit has a name for: the four of the published
// figure, and the guests that stand beside them.
func Known() []System {
	var all []System
	for _, attachment := range []string{"vhost-user", "vhost-net"} {
		for _, guest := range []string{"unikraft", "linux-dpdk", "linux-kernel", "bare"} {
			all = append(all, System{guest, attachment})
		}
	}
	return all
}

// ParseSystems reads a list such as "unikraft/vhost-user,linux-dpdk/vhost-user"
// and refuses names that are not among the known, all of them at once.
func ParseSystems(list string, known []System) ([]System, error) {
	var out []System
	var wrong []string
	seen := map[string]bool{}
next:
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if seen[name] {
			wrong = append(wrong, fmt.Sprintf("%s is there twice", name))
			continue
		}
		seen[name] = true
		for _, s := range known {
			if s.String() == name {
				out = append(out, s)
				continue next
			}
		}
		wrong = append(wrong, fmt.Sprintf("%q is unknown", name))
	}
	if len(wrong) > 0 {
		names := make([]string, len(known))
		for i, s := range known {
			names[i] = s.String()
		}
		return nil, fmt.Errorf("systems: %s; there are %s", strings.Join(wrong, "; "), strings.Join(names, ", "))
	}
	return out, nil
}

// Plan is a run.
type Plan struct {
	Sizes    []int         `json:"sizes"` // in bytes, without FCS
	Systems  []System      `json:"systems"`
	Trials   int           `json:"trials"`      // blocks: boots a system; each sees all sizes
	Duration time.Duration `json:"duration_ns"` // how long the counters are watched at each size
	Wire     string        `json:"wire"`
	Fault    string        `json:"fault,omitempty"` // what a relay in the wire plants ("none": a relay and no fault); "": no relay
	Seed     uint64        `json:"seed"`            // of the order of the systems within a block and of the sizes within each boot

	// Precision is how narrow each point's interval must be: half its width,
	// as a share of the point's median. 0 where Trials alone says when a run
	// ends; else blocks are added until each point is there, up to MaxTrials.
	Precision float64 `json:"precision,omitempty"`
	MaxTrials int     `json:"max_trials,omitempty"`

	// Note is what the user wrote about the run in the plan's file.
	Note string `json:"note,omitempty"`
}

// Full is how many blocks a run needs that is to be published: an exact rank
// test, corrected over six sizes times six pairs of systems, can decide nothing
// from fewer. It is where Precision starts, too, because the 95 % interval of a
// median exists from six boots on, and a rule that stops earlier stops by luck.
const Full = 7

// DefaultMaxTrials is MaxTrials where nothing was said.
const DefaultMaxTrials = 30

// MostBlocks is the most that the plan can have: MaxTrials, where its precision
// decides how many they are, or Trials.
func (p Plan) MostBlocks() int {
	if p.Precision > 0 {
		return p.MaxTrials
	}
	return p.Trials
}

// Trial is one point measured once: a system and a size within a boot.
type Trial struct {
	System System `json:"system"`
	Boot   int    `json:"boot"`  // 1 and up, over the whole run
	Round  int    `json:"round"` // 1 to Plan.Trials
	Size   int    `json:"size"`
}

// Boot is the trials that share a virtual machine.
type Boot struct {
	System System
	Number int // 1 and up, over the whole run
	Round  int // 1 to Plan.Trials
	Trials []Trial
}

// Block lists what the plan does in a round, 1 and up: a boot of each system,
// in a random order, so that a machine that slows down in the middle slows all
// of them and none is always the first; and each boot sees the sizes in a
// random order of its own. The same seed gives the same orders, however many
// rounds there are.
func (p Plan) Block(round int) []Boot {
	boots := make([]Boot, 0, len(p.Systems))
	first := (round - 1) * len(p.Systems)
	for _, i := range rand.New(rand.NewPCG(p.Seed, uint64(round)<<32)).Perm(len(p.Systems)) {
		b := Boot{System: p.Systems[i], Number: first + len(boots) + 1, Round: round}
		for _, j := range rand.New(rand.NewPCG(p.Seed, uint64(b.Number))).Perm(len(p.Sizes)) {
			b.Trials = append(b.Trials, Trial{System: b.System, Boot: b.Number, Round: round, Size: p.Sizes[j]})
		}
		boots = append(boots, b)
	}
	return boots
}

// Over says whether a run ends after a block, when so many points are not yet as
// precise as they must be.
func (p Plan) Over(round, wide int) bool {
	if round < p.Trials {
		return false
	}
	return p.Precision == 0 || wide == 0 || round >= p.MaxTrials
}

// Boots lists the boots of the first Trials blocks, in order.
func (p Plan) Boots() []Boot {
	var boots []Boot
	for round := 1; round <= p.Trials; round++ {
		boots = append(boots, p.Block(round)...)
	}
	return boots
}
