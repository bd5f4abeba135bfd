package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/remote"
	"sweep/internal/results"
	"sweep/internal/systems"
	"sweep/internal/testbed"
	"sweep/internal/verdict"
)

// Options are what a run is told.
type Options struct {
	Version string   // the kit's
	Command []string // as it was typed
	Catalog systems.Catalog
	Plan    plan.Plan // without Systems: every one that can run
	Wire    testbed.Wire
	Site    Site   // nil: this machine, as a lab
	Results string // the folder to make
	Resume  bool   // go on with the run in Results, which must be this one
}

// ErrNothing says that nothing could run, and why.
type ErrNothing struct{ Why []results.Skipped }

func (e *ErrNothing) Error() string {
	var b strings.Builder
	b.WriteString("nothing can run:")
	for _, s := range e.Why {
		fmt.Fprintf(&b, "\n  %s: %s", s.System, s.Why)
	}
	return b.String()
}

// UI is how a run speaks with whoever watches it.
type UI interface {
	// Say says something once, Warn what a user who wants no words must
	// know as well.
	Say(line string)
	Warn(line string)
	// Progress begins to show how far a plan is; done ends that.
	Progress(p plan.Plan) (prog Progress, done func())
	// Counting does the same for [Cost].
	Counting(p plan.Plan) CostProgress
}

// choose settles which systems a plan has: those it names, all of which must
// be able to run, or else all that can.
func choose(ctx context.Context, m systems.Machines, o Options) (plan.Plan, []results.Skipped, error) {
	p := o.Plan
	named := len(p.Systems) > 0
	all := p.Systems
	if !named {
		all = o.Catalog.Known()
	}
	can, skipped := o.Catalog.Split(ctx, m, all)
	if len(can) == 0 || named && len(skipped) > 0 {
		return p, skipped, &ErrNothing{skipped}
	}
	p.Systems = can
	return p, skipped, nil
}

// guests are the guests of a plan's systems.
func guests(c systems.Catalog, p plan.Plan) map[string]guest.Guest {
	out := map[string]guest.Guest{}
	for _, s := range p.Systems {
		if g, ok := c.Guest(s.Guest); ok {
			out[s.Guest] = g
		}
	}
	return out
}

// images says what the plan's guests are booted from.
func images(ctx context.Context, a agent.Agent, c systems.Catalog, p plan.Plan) (map[string]results.Image, error) {
	out := map[string]results.Image{}
	for name, g := range guests(c, p) {
		vm := g.VM()
		image := results.Image{Kernel: vm.Kernel, Initrd: vm.Initrd}
		var err error
		if image.KernelSHA256, err = a.SHA256(ctx, vm.Kernel); err != nil {
			return nil, err
		}
		if vm.Initrd != "" {
			if image.InitrdSHA256, err = a.SHA256(ctx, vm.Initrd); err != nil {
				return nil, err
			}
		}
		out[name] = image
	}
	return out, nil
}

// DryRun returns the lab and the plan that a run would have, for Lab.Show. It
// starts nothing, and asks no more of the machine than which CPUs it has.
func DryRun(ctx context.Context, o Options) (*Lab, plan.Plan, []results.Skipped, error) {
	a := agent.NewLocal(nil) // without a journal: nothing is changed
	o.Catalog.NoTap = testbed.NoTap(o.Wire)
	p := o.Plan
	var skipped []results.Skipped
	if len(p.Systems) == 0 {
		p.Systems, skipped = o.Catalog.Split(ctx, systems.OneMachine(a), o.Catalog.Known())
	}
	topology, err := testbed.ReadTopology(ctx, a)
	if err != nil {
		return nil, p, nil, err
	}
	place, err := testbed.Place(topology)
	if err != nil {
		return nil, p, nil, err
	}
	for _, s := range p.Systems {
		if _, ok := o.Catalog.Guest(s.Guest); !ok || s.Attachment == "vhost-net" && o.Catalog.NoTap != nil {
			return nil, p, nil, &ErrNothing{[]results.Skipped{{System: s, Why: o.Catalog.Missing(ctx, systems.OneMachine(a), s).Error()}}}
		}
	}
	// Whether KVM works is known only once a machine was booted with it.
	accel := qemu.Accel{Name: "tcg"}
	return &Lab{Ends: testbed.Ends{Sender: a, Receiver: a}, Placement: place, Wire: o.Wire, Accel: accel, Guests: guests(o.Catalog, p)}, p, skipped, nil
}

// session is this machine, taken for a run, and the folder that the run
// writes to.
type session struct {
	lab    *Lab
	plan   plan.Plan
	folder *results.Folder
	record results.Run
	was    *results.Run // the record of the run that is resumed
}

// withSession takes the machine, looks at it, calls do, and gives everything
// back. What do has written is in the folder whatever the error.
func withSession(ctx context.Context, o Options, ui UI, do func(*session) error) (err error) {
	release, err := agent.Lock()
	if err != nil {
		return err
	}
	defer release()

	// What an earlier run was killed over would be measured with.
	undone, err := agent.Undo(ctx, agent.JournalDir(), remote.CleanHost)
	if err != nil {
		return err
	}
	for _, u := range undone {
		if len(u.Changes) > 0 {
			ui.Say(fmt.Sprintf("undid what a run that was killed had left (%d things, results in %s)", len(u.Changes), u.Results))
		}
		for _, err := range u.Errs {
			// A machine that can't be reached now disturbs nothing here.
			if elsewhere := new(agent.ErrHost); !errors.As(err, &elsewhere) {
				return fmt.Errorf("a run that was killed left what can't be undone: %w", errors.Join(u.Errs...))
			}
			ui.Say(fmt.Sprintf("a run that was killed left something elsewhere; ./clean.sh tries again: %v", err))
		}
	}

	folder, err := filepath.Abs(o.Results)
	if err != nil {
		return err
	}
	journal, err := agent.OpenJournal(agent.JournalDir(), folder)
	if err != nil {
		return err
	}
	a := agent.NewLocal(journal)
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, a.Close(end))
	}()

	at, err := o.site().Take(ctx, a, journal, ui)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		err = errors.Join(err, at.Close(end))
	}()
	p, skipped, err := choose(ctx, systems.Machines{Here: a, Sender: at.Sender, Receiver: at.Receiver}, o)
	if err != nil {
		return err
	}
	for _, line := range results.NotRun(skipped) {
		ui.Say("not run: " + line)
	}
	record := results.Run{
		Kit: o.Version, Command: o.Command, Started: time.Now().UTC(),
		Plan: p, Skipped: skipped, Placement: at.Placement, Testbed: at.Record,
	}
	if record.Images, err = images(ctx, a, o.Catalog, p); err != nil {
		return err
	}
	var f *results.Folder
	var was results.Run
	if o.Resume {
		f, was, err = results.Reopen(folder)
	} else {
		f, err = results.Create(folder, record)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	ui.Say("results go to " + o.Results)

	lab := &Lab{Ends: at.Ends, Placement: at.Placement, Wire: o.Wire}
	if lab.Guests, err = bring(ctx, at.Sender, guests(o.Catalog, p)); err != nil {
		return err
	}
	if record.Warnings, err = lab.ForeignPollers(ctx); err != nil {
		return err
	}
	record.Warnings = append(at.Warnings, record.Warnings...)
	for _, w := range record.Warnings {
		ui.Warn(w)
	}
	s := &session{lab: lab, plan: p, folder: f, record: record}
	if o.Resume {
		s.was = &was
	}
	return do(s)
}

// Run carries out a whole run on this machine. began says whether the folder is
// this run's: whether what it holds is to be shown, whatever the error.
func Run(ctx context.Context, o Options, ui UI) (began bool, err error) {
	o.Catalog.NoTap = testbed.NoTap(o.Wire)
	err = withSession(ctx, o, ui, func(s *session) (err error) {
		if s.lab.Accel, err = s.lab.chooseAccel(ctx, o, s.folder, ui); err != nil {
			return err
		}
		if err := s.describe(ctx); err != nil {
			return err
		}
		began = true
		prog, done := ui.Progress(s.plan)
		defer done()
		return s.lab.Execute(ctx, s.plan, s.folder, prog, s.wide)
	})
	return began, err
}

// wide names the points that are not yet as precise as the plan wants them.
func (s *session) wide(trials []results.Trial) []string {
	if s.plan.Precision == 0 {
		return nil
	}
	var names []string
	for _, p := range verdict.Judge(s.record, trials, verdict.Rules{}).Points {
		if !p.Narrow(s.plan.Precision) {
			names = append(names, fmt.Sprintf("%s %d B", p.System, p.Size))
		}
	}
	return names
}

// ErrChanged says that a run can't be resumed, because it would not be the same
// run.
type ErrChanged struct {
	Folder  string
	Changes []string
}

func (e *ErrChanged) Error() string {
	return fmt.Sprintf("%s can't be resumed: its numbers and new ones would not be of the same run. What changed:\n  %s\nStart a run of its own, or put back what changed",
		e.Folder, strings.Join(e.Changes, "\n  "))
}

// describe adds the machine to the record. A run that is resumed must find the
// machine as it was.
func (s *session) describe(ctx context.Context) (err error) {
	s.record.Accel, s.record.AccelWhy = s.lab.Accel.Name, s.lab.Accel.Why
	if s.record.Machine, err = Machine(ctx, s.lab.Sender); err != nil {
		return err
	}
	if s.lab.Two() {
		there, err := Machine(ctx, s.lab.Receiver)
		if err != nil {
			return err
		}
		s.record.Receiver = &there
	}
	// Where nothing was measured there is nothing that could be mixed up, and
	// the machine may not even have been looked at.
	if s.was == nil || len(s.folder.Trials()) == 0 {
		return s.folder.Update(s.record)
	}
	if changes := results.Changes(*s.was, s.record); len(changes) > 0 {
		return &ErrChanged{s.folder.Path(), changes}
	}
	resumed := *s.was
	resumed.Resumed = append(resumed.Resumed, s.record.Started)
	resumed.Warnings = appendNew(resumed.Warnings, s.record.Warnings)
	s.record = resumed
	return s.folder.Update(s.record)
}

// appendNew appends what a list does not have.
func appendNew(list, more []string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// chooseAccel finds out how virtual machines run here.
func (l *Lab) chooseAccel(ctx context.Context, o Options, f *results.Folder, ui UI) (qemu.Accel, error) {
	transcript, err := f.Console("000-kvm-probe")
	if err != nil {
		return qemu.Accel{}, err
	}
	return ChooseAccel(ctx, l.Sender, o.Catalog, ui, transcript)
}

// ChooseAccel finds out how virtual machines run on a machine, by booting one.
func ChooseAccel(ctx context.Context, a agent.Agent, c systems.Catalog, ui UI, transcript io.Writer) (qemu.Accel, error) {
	return qemu.ChooseAccel(ctx, a, c.Build, func() (qemu.Config, func([]byte) bool) {
		ui.Say("trying whether KVM boots a guest (10 s at most; remembered until the machine is rebooted)")
		vm, booted := c.Probe()
		// Where it can't be brought there, its boot says so.
		if there, err := bringVM(ctx, a, vm); err == nil {
			vm = there
		}
		return vm, booted
	}, transcript)
}

// DefaultResults is a folder's name for a run that starts now.
func DefaultResults(now time.Time) string {
	return filepath.Join("results", now.Format("2006-01-02T15-04-05")+fmt.Sprintf("-%d", os.Getpid()))
}
