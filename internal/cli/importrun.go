package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sweep/internal/imported"
	"sweep/internal/plan"
	"sweep/sizes"
)

// importFlags are those that all kinds have.
type importFlags struct {
	version string
	args    []string
	results string
}

func newImportCommand(version string, args []string) *cobra.Command {
	f := importFlags{version: version, args: args}
	c := &cobra.Command{
		Use:   "import KIND [FILE...] -o DIR",
		Short: "Make a run of numbers that were measured elsewhere",
		Long: `Make a folder of results of numbers that this kit did not measure, so that 'sweep
report' and 'sweep compare' take them. What they lack (other boots, a ledger, the
machine) is marked at each of them. The kinds:

  paper    the 24 points of the published figure; no file is needed
  csv      files in the published format: packetsize<TAB>rx, in Mpps
  testpmd  logs of testpmd run by hand, with answers to 'show port stats'`,
		Example: `  sweep import paper -o results/paper
  sweep import csv unikraft-vhost-user.csv linux-dpdk-vhost-user.csv -o results/theirs
  sweep import testpmd monday.log tuesday.log --system linux-dpdk/vhost-user -o results/byhand`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError("import knows no kind %q; there are paper, csv, testpmd", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return usageError("import takes a kind: paper, csv or testpmd; 'sweep import --help' explains them")
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError("%v", err) })
	c.PersistentFlags().StringVarP(&f.results, "results", "o", "", "the folder that is made")
	c.AddCommand(newImportPaper(&f), newImportCSV(&f), newImportTestpmd(&f))
	return c
}

func newImportPaper(f *importFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "paper -o DIR",
		Short:   "The 24 points of the published figure",
		Long:    "Make a run of the 24 points of Figure 19 of the EuroSys'21 paper on Unikraft, as\nits artifact published them. Each is one number without spread.",
		Example: "  sweep import paper -o results/paper && sweep report results/paper",
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong complaints
			if len(args) > 0 {
				wrong.add(fmt.Errorf("import paper takes no file; the points are built in"))
			}
			return f.write(cmd, wrong, imported.Paper)
		},
	}
}

func newImportCSV(f *importFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "csv FILE... -o DIR",
		Short: "Files in the published format",
		Long: `Make a run of files in the published format, one a system: a header
packetsize<TAB>rx, then a line a size, in bytes without FCS, with the rate in
millions of packets a second. The file's name says the system: GUEST-vhost-user or
GUEST-vhost-net, with any ending.`,
		Example: "  sweep import csv unikraft-vhost-user.csv linux-dpdk-vhost-user.csv -o results/theirs",
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong complaints
			files := readFiles(args, &wrong)
			var got imported.Imported
			if len(files) > 0 {
				var err error
				got, err = imported.CSV(files)
				wrong.add(err)
			}
			return f.write(cmd, wrong, func() imported.Imported { return got })
		},
	}
}

func newImportTestpmd(f *importFlags) *cobra.Command {
	by := imported.Hand{Port: imported.AnyPort}
	var system string
	c := &cobra.Command{
		Use:   "testpmd FILE... --system GUEST/ATTACHMENT -o DIR",
		Short: "Logs of testpmd run by hand",
		Long: `Make a run of logs of the receiving testpmd, of any version that prints Rx-pps
(DPDK 16.07 and later), however noisy. Type 'show port stats' at least three times
at each size: the first answer has rates of 0, the second's window begins before
the traffic did.

Each log is taken for a boot of its own. Of its answers at one size the median of
Rx-pps is the rate: they are of one boot, so they are no independent values. The
size is bytes over packets between two answers. Answers that make no point, and
why, are printed with their line.`,
		Example: `  sweep import testpmd client.log --system linux-dpdk/vhost-user -o results/byhand
  sweep import testpmd boot1.log boot2.log --system mine/vhost-net --port 1 -o results/byhand
  sweep import testpmd old.log --system mine/vhost-user --size 64 -o results/byhand`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var wrong complaints
			by.System = parseSystem(system, &wrong)
			if by.Port < imported.AnyPort {
				wrong.add(fmt.Errorf("--port %d: ports are numbered from 0", by.Port))
			}
			if cmd.Flags().Changed("size") && (by.Size < 14 || by.Size > 65535) {
				wrong.add(fmt.Errorf("--size %d: a frame has 14 to 65535 bytes", by.Size))
			}
			files := readFiles(args, &wrong)
			var got imported.Imported
			if len(files) > 0 {
				var err error
				got, err = imported.Testpmd(files, by)
				wrong.add(err)
			}
			return f.write(cmd, wrong, func() imported.Imported { return got })
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&system, "system", "", "whose packets were counted: GUEST/ATTACHMENT, such as linux-dpdk/vhost-user")
	fl.IntVar(&by.Port, "port", imported.AnyPort, "the port that received them (default the only one that did)")
	fl.IntVar(&by.Size, "size", 0, "the frames' size in bytes without FCS, where the log can't tell")
	fl.BoolVar(&by.FCS, "fcs", false, fmt.Sprintf("the port's byte counters hold the FCS, so a frame has %d bytes less", sizes.FCS))
	fl.Lookup("port").DefValue = "0" // pflag shows no default then; -1 would say nothing
	return c
}

// parseSystem reads the system that logs are of.
func parseSystem(name string, wrong *complaints) plan.System {
	if name == "" {
		wrong.add(fmt.Errorf("say with --system whose packets the logs count, such as --system linux-dpdk/vhost-user"))
		return plan.System{}
	}
	s, err := imported.ParseSystem(name)
	if err != nil {
		wrong.add(fmt.Errorf("--system: %w", err))
	}
	return s
}

// readFiles reads what is imported.
func readFiles(args []string, wrong *complaints) []imported.File {
	if len(args) == 0 {
		wrong.add(fmt.Errorf("name the files that are imported"))
	}
	var files []imported.File
	for _, name := range args {
		b, err := os.ReadFile(name)
		if err != nil {
			wrong.add(err)
			continue
		}
		files = append(files, imported.File{Name: name, Data: b})
	}
	return files
}

// write makes the folder, unless something is wrong.
func (f *importFlags) write(cmd *cobra.Command, wrong complaints, made func() imported.Imported) error {
	if f.results == "" {
		wrong.add(fmt.Errorf("say with -o which folder is made, such as -o results/imported"))
	}
	if err := wrong.err(); err != nil {
		return err
	}
	got := made()
	if err := got.Write(f.results, f.version, append([]string{"sweep"}, f.args...)); err != nil {
		return withExit(exitFailed, err)
	}
	for _, s := range got.Said {
		fmt.Fprintln(cmd.ErrOrStderr(), "sweep:", s)
	}
	rates := 0
	for _, t := range got.Trials {
		if t.Error == "" {
			rates++
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s holds %d rates, imported from %s\nprint them with: sweep report %s\n", f.results, rates, got.Run.Imported, f.results)
	if rates < len(got.Trials) {
		return withExit(exitFailed, fmt.Errorf("%d of %d sizes have no rate: 'sweep report' says why", len(got.Trials)-rates, len(got.Trials)))
	}
	return nil
}
