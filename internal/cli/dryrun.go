package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sweep/internal/plan"
	"sweep/internal/progress"
	"sweep/internal/systems"
)

// sources say where a plan's parts come from.
type sources struct {
	cmd    *cobra.Command
	flags  *sweepFlags
	file   origins
	guests []plan.Guest // of the file
}

// of is where a part comes from: a flag, a line of the file, or nobody.
func (s sources) of(key string) string {
	if where, ok := s.file[key]; ok {
		return where
	}
	if flag := flagOf(key); s.cmd.Flags().Changed(flag) {
		return "--" + flag
	}
	return "default"
}

// ofBlocks is where the number of blocks comes from.
func (s sources) ofBlocks() string {
	switch {
	case s.flags.full:
		return s.of("full")
	case s.flags.precision > 0 && !given(s.cmd, s.file, "trials"):
		return s.of("precision")
	}
	return s.of("trials")
}

// ofGuest is where a guest of the user's own comes from.
func (s sources) ofGuest(name string) string {
	typed := slices.ContainsFunc(s.flags.guests.own, func(text string) bool { return strings.HasPrefix(text, name+"=") })
	for _, g := range s.guests {
		if g.Name == name && !typed {
			return g.Where
		}
	}
	return "--guest"
}

// showPlan prints a plan as comments of a shell: what it takes, what it
// consists of and where each part comes from, and the boots in their order.
func showPlan(w io.Writer, p plan.Plan, c systems.Catalog, from sources, now time.Time) error {
	fmt.Fprintf(w, "# %s\n", progress.Announce(p, now))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	part := func(name, value, source string) { fmt.Fprintf(table, "#   %s\t%s\t%s\n", name, value, source) }

	part("sizes", join(p.Sizes), from.of("sizes"))
	asked := from.of("systems")
	if asked == "default" {
		asked = "all that can run here"
	}
	for i, s := range p.Systems {
		part([]string{"systems", ""}[min(i, 1)], s.String(), []string{asked, ""}[min(i, 1)])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Own)) {
		vm := c.Own[name].VM()
		words := vm.Kernel
		if vm.Initrd != "" {
			words += " initrd " + vm.Initrd
		}
		if vm.Append != "" {
			words += " append " + vm.Append
		}
		part("guest "+name, words, from.ofGuest(name))
	}
	part("trials", strconv.Itoa(p.Trials), from.ofBlocks())
	if p.Precision > 0 {
		part("precision", plan.Percent(p.Precision), from.of("precision"))
		part("max trials", strconv.Itoa(p.MaxTrials), from.of("max_trials"))
	}
	part("duration", p.Duration.String(), from.of("duration"))
	part("wire", p.Wire, from.of("wire"))
	seed := from.of("seed")
	if from.flags.seed == 0 {
		seed = "drawn; --seed makes it this one again"
	}
	part("seed", strconv.FormatUint(p.Seed, 10), seed)
	part("kernel sender", c.KernelSender, from.of("kernel_sender"))
	part("memory", strconv.Itoa(c.MemoryMiB)+" MiB", from.of("memory"))
	if c.Unikraft != "" {
		part("unikraft image", c.Unikraft, from.of("unikraft_image"))
	}
	if p.Note != "" {
		part("note", strings.Join(strings.Fields(p.Note), " "), "")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, b := range p.Boots() {
		sizes := make([]int, len(b.Trials))
		for i, t := range b.Trials {
			sizes[i] = t.Size
		}
		fmt.Fprintf(w, "# block %d, boot %d: %s at %s\n", b.Round, b.Number, b.System, join(sizes))
	}
	if more := p.MostBlocks() - p.Trials; more > 0 {
		fmt.Fprintf(w, "# and up to %d more, until each interval is within %s\n", more, plan.Percent(p.Precision))
	}
	return nil
}
