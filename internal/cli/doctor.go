package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sweep/internal/agent"
	"sweep/internal/doctor"
	"sweep/internal/run"
	"sweep/internal/site"
	"sweep/internal/systems"
	"sweep/internal/testbed"
)

func newDoctorCommand() *cobra.Command {
	var file, format string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what the machines lack for an experiment, and how to mend it",
		Long: `Look at this machine, or at those of a testbed, and say what is wrong: errors keep
an experiment from running, with warnings its numbers mean less. They come in the
order in which a person would mend them, each with why it matters and the command
that mends it. Nothing is changed. The exit code is 1 where there is an error, and
0 where there are warnings at most.`,
		Example: `  sweep doctor
  sweep doctor --testbed testbed.yaml --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var wrong complaints
			if format != "text" && format != "json" {
				wrong.add(fmt.Errorf("--format %q is unknown; there are text and json", format))
			}
			var bed testbed.File
			if file != "" {
				var errs []error
				bed, errs = testbed.ReadFile(file)
				for _, err := range errs {
					wrong.add(err)
				}
			}
			if err := wrong.err(); err != nil {
				return err
			}
			found, names, err := examine(cmd, file != "", bed)
			if err != nil {
				return withExit(codeOf(cmd.Context(), err), err)
			}
			if err := showFindings(cmd.OutOrStdout(), format, names, found); err != nil {
				return withExit(exitFailed, err)
			}
			if slices.ContainsFunc(found, func(f doctor.Finding) bool { return f.Severity == doctor.Error }) {
				return withExit(exitFailed, nil)
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&file, "testbed", "", "YAML file with two machines (docs/testbed.md); this machine as a lab where it is left out")
	fl.StringVar(&format, "format", "text", "text or json")
	return c
}

// examine has the doctor look at this machine or at those of a testbed, whose
// names it returns.
func examine(cmd *cobra.Command, two bool, bed testbed.File) (found []doctor.Finding, names []string, err error) {
	ctx := cmd.Context()
	journal, err := agent.OpenJournal(agent.JournalDir(), "")
	if err != nil {
		return nil, nil, err
	}
	here := agent.NewLocal(journal)
	defer func() { err = errors.Join(err, here.Close(context.WithoutCancel(ctx))) }()
	ui := onTerminal(cmd, false)
	build, err := buildFolder()
	if err != nil {
		return nil, nil, err
	}
	try := tryKVM(systems.Catalog{Build: build}, ui)
	if two {
		t := site.Testbed{File: bed, Cable: &testbed.Cable{}, Taps: true, TryKVM: try}
		found, err = t.Examine(ctx, here, journal, ui)
		return found, []string{"sender " + bed.Sender.Host, "receiver " + bed.Receiver.Host}, err
	}
	topology, err := testbed.ReadTopology(ctx, here)
	if err != nil {
		return nil, nil, err
	}
	place, err := testbed.Place(topology)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	m := doctor.Machine{Name: "this machine", Agent: here, Role: doctor.Lab, Pollers: place.Pollers(), House: place.House, Share: place.Share, Results: dir, TryKVM: try}
	f, err := doctor.Look(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	return doctor.Examine(f, m), []string{m.Name}, nil
}

// tryKVM boots a guest with KVM where there is one to boot, which ./prepare.sh
// makes.
func tryKVM(c systems.Catalog, ui run.UI) func(context.Context, agent.Agent) (string, error) {
	probe, _ := c.Probe()
	if _, err := os.Stat(probe.Kernel); err != nil {
		return nil
	}
	return func(ctx context.Context, a agent.Agent) (string, error) {
		if a.Find(ctx, "qemu-system-x86_64") != nil {
			return "", nil // another finding
		}
		accel, err := run.ChooseAccel(ctx, a, c, ui, io.Discard)
		if err != nil || accel.Name == "kvm" {
			return "", err
		}
		return accel.Why, nil
	}
}

func showFindings(w io.Writer, format string, names []string, found []doctor.Finding) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		if found == nil {
			found = []doctor.Finding{}
		}
		return enc.Encode(found)
	}
	bad := 0
	for _, name := range names {
		any := false
		for _, f := range found {
			if f.Machine != name {
				continue
			}
			if !any {
				fmt.Fprintf(w, "%s\n", name)
			}
			any = true
			if f.Severity == doctor.Error {
				bad++
			}
			fmt.Fprintf(w, "  %-8s %s\n           why:  %s\n           mend: %s\n", f.Severity, f.What, f.Why, f.Mend)
		}
		if !any {
			fmt.Fprintf(w, "%s: nothing to mend\n", name)
		}
	}
	_, err := fmt.Fprintf(w, "%d errors, %d warnings\n", bad, len(found)-bad)
	return err
}
