package cli

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/run"
	"sweep/internal/systems"
)

// guestFlags are the flags that say which systems there are and which of them
// to use.
type guestFlags struct {
	systems      string
	unikraft     string
	own          []string
	kernelSender string
	memory       int

	// also are systems that can be asked for by name, and are none of those
	// that are measured where nothing is asked for.
	also []plan.System
}

func (g *guestFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&g.systems, "systems", "", "systems to measure, separated by commas (default every one that can run here)")
	fl.StringVar(&g.unikraft, "unikraft-image", "", "image of the guest unikraft (docs/unikraft.md says how to build one)")
	fl.StringArrayVar(&g.own, "guest", nil, "a guest of your own, NAME=KERNEL[,INITRD][,APPEND], as the system NAME/vhost-user (docs/guests.md)")
	fl.StringVar(&g.kernelSender, "kernel-sender", linux.Senders()[0], "what sends in the guest linux-kernel: "+strings.Join(linux.Senders(), " or "))
	fl.IntVar(&g.memory, "memory", guest.MemoryMiB, "MiB of memory of every guest")
}

// options sets what the flags say of a run's systems, and where its results go
// if nothing else was said. own are guests of the user's own that stand in a
// plan's file.
func (g *guestFlags) options(o *run.Options, from origins, own []plan.Guest, wrong *complaints) error {
	build, err := buildFolder()
	if err != nil {
		return withExit(exitFailed, err)
	}
	o.Catalog, o.Plan.Systems = g.catalog(build, from, own, wrong)
	if o.Results == "" {
		o.Results = run.DefaultResults(time.Now())
	}
	return nil
}

// catalog makes the flags the systems that there are, and those that were
// asked for: none for every one that can run.
func (g *guestFlags) catalog(build string, from origins, own []plan.Guest, wrong *complaints) (c systems.Catalog, asked []plan.System) {
	c = systems.Catalog{Build: build, Unikraft: g.unikraft, KernelSender: g.kernelSender, MemoryMiB: g.memory, Own: map[string]guest.Guest{}}
	if g.memory < 2 || g.memory > 1<<20 {
		wrong.add(fmt.Errorf("%s %d: a guest can have 2 to %d MiB", from.name("memory"), g.memory, 1<<20))
	}
	if g.unikraft != "" {
		wrong.add(checkFile(from.name("unikraft_image"), g.unikraft))
	}
	wrong.add(from.at("kernel_sender", linux.CheckSender(g.kernelSender)))
	taken := map[string]bool{}
	for _, s := range append(plan.Known(), g.also...) {
		taken[s.Guest] = true
	}
	for _, text := range g.own {
		typed, err := parseOwn(text)
		if err != nil {
			wrong.add(err)
			continue
		}
		// It wins over the file's of that name.
		own = slices.DeleteFunc(slices.Clone(own), func(o plan.Guest) bool { return o.Name == typed.Name && o.Where != typed.Where })
		own = append(own, typed)
	}
	for _, o := range own {
		bootable, err := ownGuest(o)
		if err == nil && taken[o.Name] {
			err = fmt.Errorf("%s: the name %s is taken", o.Where, o.Name)
		}
		if err != nil {
			wrong.add(err)
			continue
		}
		taken[o.Name] = true
		c.Own[o.Name] = bootable
	}
	if g.systems != "" {
		var err error
		asked, err = plan.ParseSystems(g.systems, append(c.Known(), g.also...))
		wrong.add(from.at("systems", err))
	}
	return c, asked
}

var ownName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// parseOwn reads NAME=KERNEL[,INITRD][,APPEND]. The last is all the rest, with
// its commas; an INITRD may be empty.
func parseOwn(text string) (plan.Guest, error) {
	name, files, ok := strings.Cut(text, "=")
	if !ok || !ownName.MatchString(name) {
		return plan.Guest{}, fmt.Errorf("--guest %s: it is NAME=KERNEL[,INITRD][,APPEND], with a name of small letters, digits and -", text)
	}
	parts := append(strings.SplitN(files, ",", 3), "", "")
	return plan.Guest{Name: name, Kernel: parts[0], Initrd: parts[1], Append: parts[2], Where: "--guest " + name}, nil
}

// ownGuest makes a guest of the user's own one that can be booted.
func ownGuest(g plan.Guest) (guest.Guest, error) {
	if !ownName.MatchString(g.Name) {
		return nil, fmt.Errorf("%s: the name %q: small letters, digits and - can be in it", g.Where, g.Name)
	}
	if err := checkFile(g.Where, g.Kernel); err != nil {
		return nil, err
	}
	if g.Initrd != "" {
		if err := checkFile(g.Where, g.Initrd); err != nil {
			return nil, err
		}
	}
	return guest.Lines{Machine: qemu.Config{
		VCPUs: 1, MemoryMiB: guest.MemoryMiB, Kernel: g.Kernel, Initrd: g.Initrd, Append: g.Append,
	}}, nil
}

// checkFile says why a file can't be read.
func checkFile(flag, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}
