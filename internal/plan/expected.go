package plan

import "time"

// trialCost is what a trial takes besides its window: the warm-up, which is as
// long as the rate needs to become steady (0.3 to 3 s), and the draining of the
// pipes.
const trialCost = 1500 * time.Millisecond

// BootCost is about what a boot of a system takes besides its trials: the
// virtual machine, the forwarder and the client come up, and everything goes
// down again. Seen under TCG on 2 CPUs; under KVM it is less.
func BootCost(s System) time.Duration {
	switch s.Guest {
	case "bare", "unikraft":
		return 2 * time.Second
	case "linux-kernel":
		return 5 * time.Second
	}
	return 10 * time.Second
}

// TrialCost is about what a trial takes.
func (p Plan) TrialCost() time.Duration { return p.Duration + trialCost }

// Expected is about how long so many blocks of the plan take.
func (p Plan) Expected(blocks int) time.Duration {
	var block time.Duration
	for _, s := range p.Systems {
		block += BootCost(s) + time.Duration(len(p.Sizes))*p.TrialCost()
	}
	return time.Duration(blocks) * block
}
