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
	Trials   int           `json:"trials"`      // boots a system; each sees all sizes
	Duration time.Duration `json:"duration_ns"` // how long the counters are watched at each size
	Wire     string        `json:"wire"`
	Seed     uint64        `json:"seed"` // of the order of the sizes within each boot
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

// Boots lists what the plan does, in order. The systems take turns, so that a
// machine that slows down in the middle slows all of them; and each boot sees
// the sizes in a random order of its own, so that no size is always the first
// of a cold machine. The same seed gives the same orders.
func (p Plan) Boots() []Boot {
	var boots []Boot
	for round := 1; round <= p.Trials; round++ {
		for _, s := range p.Systems {
			b := Boot{System: s, Number: len(boots) + 1, Round: round}
			order := rand.New(rand.NewPCG(p.Seed, uint64(b.Number))).Perm(len(p.Sizes))
			for _, i := range order {
				b.Trials = append(b.Trials, Trial{System: s, Boot: b.Number, Round: round, Size: p.Sizes[i]})
			}
			boots = append(boots, b)
		}
	}
	return boots
}

// Rough costs of what isn't measuring, for the time that is announced.
const (
	bootCost = 10 * time.Second
	sizeCost = 1500 * time.Millisecond
)

// Expected is about how long the plan takes.
func (p Plan) Expected() time.Duration {
	boots := time.Duration(p.Trials * len(p.Systems))
	return boots * (bootCost + time.Duration(len(p.Sizes))*(p.Duration+sizeCost))
}

// Check reports all that is wrong with the plan.
func (p Plan) Check() error {
	var wrong []string
	if len(p.Sizes) == 0 {
		wrong = append(wrong, "no size")
	}
	if p.Trials < 1 || p.Trials > 1000 {
		wrong = append(wrong, fmt.Sprintf("--trials %d: 1 to 1000 boots can be asked for", p.Trials))
	}
	if p.Duration < time.Second || p.Duration > time.Hour {
		wrong = append(wrong, fmt.Sprintf("--duration %v: the counters can be watched for 1s to 1h", p.Duration))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return nil
}
