package site

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sweep/internal/agent"
	"sweep/internal/doctor"
	"sweep/internal/run"
	"sweep/internal/testbed"
)

// Examine reaches the machines, looks at them as a run would, and says what is
// wrong. It changes nothing there, and leaves nothing.
func (t Testbed) Examine(ctx context.Context, here agent.Agent, journal *agent.Journal, ui run.UI) (found []doctor.Finding, err error) {
	have := &taken{journal: journal, cable: t.Cable}
	defer func() { err = errors.Join(err, have.close(context.WithoutCancel(ctx))) }()
	sender, receiver, err := t.meet(ctx, have, here, ui)
	if err != nil {
		return nil, err
	}
	place, err := t.place(sender, receiver)
	if err != nil {
		return nil, err
	}
	return t.examine(ctx, sender, receiver, place)
}

// examine has the doctor look at both machines.
func (t Testbed) examine(ctx context.Context, sender, receiver end, place testbed.Placement) ([]doctor.Finding, error) {
	s, r := t.patient(sender, doctor.Sender), t.patient(receiver, doctor.Receiver)
	s.Pollers, s.House, s.Share, s.VhostNet = []int{place.Forwarder, place.Guest}, place.House, place.Share, t.Taps
	s.TryKVM = t.TryKVM
	r.Pollers, r.House = []int{place.Client}, place.ClientHouse
	var found []doctor.Finding
	for _, m := range []doctor.Machine{s, r} {
		f, err := doctor.Look(ctx, m)
		if err != nil {
			return nil, err
		}
		found = append(found, doctor.Examine(f, m)...)
	}
	return found, nil
}

func (t Testbed) patient(e end, role doctor.Role) doctor.Machine {
	return doctor.Machine{
		Name: e.name + " " + e.Host, Agent: e.agent, Role: role,
		NIC: e.nic.PCI, KernelDriver: e.KernelDriver, DPDKDriver: e.DPDKDriver, NoIOMMU: e.NoIOMMU, LinkBps: t.File.LinkBps(),
		PageKiB: e.Hugepages.KiB(), PageCount: e.Hugepages.Count, Governor: e.Governor,
	}
}

// ErrUnfit says that machines lack what a run can't do without.
type ErrUnfit struct{ Found []doctor.Finding }

func (e *ErrUnfit) Error() string {
	var b strings.Builder
	b.WriteString("the testbed can't run this; sweep doctor --testbed FILE says more, warnings too:")
	for _, f := range e.Found {
		fmt.Fprintf(&b, "\n  %s: %s: %s; %s", f.Machine, f.What, f.Why, f.Mend)
	}
	return b.String()
}

// fit parts findings: the errors as one, and the warnings as sentences.
func fit(found []doctor.Finding) (warnings []string, err error) {
	var bad []doctor.Finding
	for _, f := range found {
		if f.Severity == doctor.Error {
			bad = append(bad, f)
		} else {
			warnings = append(warnings, fmt.Sprintf("%s: %s: %s", f.Machine, f.What, f.Why))
		}
	}
	if len(bad) > 0 {
		return warnings, &ErrUnfit{bad}
	}
	return warnings, nil
}
