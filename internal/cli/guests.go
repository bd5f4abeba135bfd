package cli

import (
	"fmt"
	"os"
	"regexp"
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
// if nothing else was said.
func (g *guestFlags) options(o *run.Options, wrong *complaints) error {
	build, err := buildFolder()
	if err != nil {
		return withExit(exitFailed, err)
	}
	o.Catalog, o.Plan.Systems = g.catalog(build, wrong)
	if o.Results == "" {
		o.Results = run.DefaultResults(time.Now())
	}
	return nil
}

// catalog makes the flags the systems that there are, and those that were
// asked for: none for every one that can run.
func (g *guestFlags) catalog(build string, wrong *complaints) (c systems.Catalog, asked []plan.System) {
	c = systems.Catalog{Build: build, Unikraft: g.unikraft, KernelSender: g.kernelSender, MemoryMiB: g.memory, Own: map[string]guest.Guest{}}
	if g.memory < 2 || g.memory > 1<<20 {
		wrong.add(fmt.Errorf("--memory %d: a guest can have 2 to %d MiB", g.memory, 1<<20))
	}
	if g.unikraft != "" {
		wrong.add(checkFile("--unikraft-image", g.unikraft))
	}
	wrong.add(linux.CheckSender(g.kernelSender))
	taken := map[string]bool{}
	for _, s := range append(plan.Known(), g.also...) {
		taken[s.Guest] = true
	}
	for _, text := range g.own {
		name, own, err := parseOwn(text)
		if err == nil && taken[name] {
			err = fmt.Errorf("--guest %s: the name %s is taken", text, name)
		}
		if err != nil {
			wrong.add(err)
			continue
		}
		taken[name] = true
		c.Own[name] = own
	}
	if g.systems != "" {
		var err error
		asked, err = plan.ParseSystems(g.systems, append(c.Known(), g.also...))
		wrong.add(err)
	}
	return c, asked
}

var ownName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// parseOwn reads NAME=KERNEL[,INITRD][,APPEND]. The last is all the rest, with
// its commas; an INITRD may be empty.
func parseOwn(text string) (name string, g guest.Guest, err error) {
	name, files, ok := strings.Cut(text, "=")
	if !ok || !ownName.MatchString(name) {
		return "", nil, fmt.Errorf("--guest %s: it is NAME=KERNEL[,INITRD][,APPEND], with a name of small letters, digits and -", text)
	}
	parts := strings.SplitN(files, ",", 3)
	vm := qemu.Config{VCPUs: 1, MemoryMiB: guest.MemoryMiB, Kernel: parts[0]}
	if err := checkFile("--guest "+name, vm.Kernel); err != nil {
		return "", nil, err
	}
	if len(parts) > 1 && parts[1] != "" {
		vm.Initrd = parts[1]
		if err := checkFile("--guest "+name, vm.Initrd); err != nil {
			return "", nil, err
		}
	}
	if len(parts) > 2 {
		vm.Append = parts[2]
	}
	return name, guest.Lines{Machine: vm}, nil
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
