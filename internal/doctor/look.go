package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
)

// watched is how long processes are watched for what they use.
const watched = 400 * time.Millisecond

// commandDeadline is how long a program may take to say its version.
const commandDeadline = 10 * time.Second

// Look reads what Examine wants to know of a machine. It changes nothing.
func Look(ctx context.Context, m Machine) (Facts, error) {
	f := newFacts()
	l := looker{ctx, m.Agent, f}
	err := errors.Join(l.machine(m), l.nic(m), l.software(m))
	if err != nil {
		return f, fmt.Errorf("look at %s: %w", m.Name, err)
	}
	// A device that may be opened proves nothing: a boot does.
	if e := f.Errno["/dev/kvm"]; m.TryKVM != nil && m.guests() && f.Names["/dev/kvm"] && (e == 0 || e == int(syscall.EINVAL)) {
		if f.KVM, err = m.TryKVM(ctx, m.Agent); err != nil {
			return f, fmt.Errorf("look at %s: %w", m.Name, err)
		}
	}
	f.Busy, err = l.busy()
	if err != nil {
		return f, fmt.Errorf("look at %s: %w", m.Name, err)
	}
	return f, nil
}

type looker struct {
	ctx context.Context
	a   agent.Agent
	f   Facts
}

// read reads files; one that isn't there is a fact as well.
func (l looker) read(paths ...string) error {
	got, err := l.a.Read(l.ctx, paths...)
	if err != nil {
		return err
	}
	for _, r := range got {
		switch r.Errno {
		case 0:
			l.f.Text[r.Path] = strings.TrimSpace(string(r.Data))
			l.f.Names[r.Path] = true
		case syscall.ENOENT, syscall.ENOTDIR:
		default:
			l.f.Errno[r.Path] = int(r.Errno)
			l.f.Names[r.Path] = true
		}
	}
	return nil
}

// list lists paths, and reads those that are files to read, by what follows.
func (l looker) list(patterns ...string) ([]string, error) {
	got, err := l.a.List(l.ctx, patterns...)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(got))
	for i, e := range got {
		paths[i] = e.Path
		l.f.Names[e.Path] = true
		if e.Target != "" {
			l.f.Link[e.Path] = filepath.Base(e.Target)
		}
	}
	return paths, nil
}

func (l looker) machine(m Machine) error {
	paths := []string{
		"/proc/cmdline", "/proc/cpuinfo", "/proc/meminfo", "/proc/sys/kernel/osrelease", "/proc/interrupts", "/dev/kvm",
		cpuDir + "online", cpuDir + "isolated", cpuDir + "nohz_full", cpuDir + "intel_pstate/no_turbo", cpuDir + "cpufreq/boost",
		"/sys/devices/system/clocksource/clocksource0/current_clocksource",
	}
	for _, cpu := range m.Pollers {
		dir := fmt.Sprintf("%scpu%d/", cpuDir, cpu)
		paths = append(paths, dir+"topology/thread_siblings_list", dir+"cpufreq/scaling_governor")
	}
	listed, err := l.list("/sys/devices/system/node/node[0-9]*/cpulist", "/sys/devices/system/node/node[0-9]*/hugepages/*/free_hugepages",
		"/sys/kernel/mm/hugepages/*/free_hugepages", "/proc/irq/*/effective_affinity_list")
	if err != nil {
		return err
	}
	return l.read(append(paths, listed...)...)
}

func (l looker) nic(m Machine) error {
	if m.NIC == "" {
		return nil
	}
	dev := devices + m.NIC
	if _, err := l.list(dev, dev+"/iommu_group", dev+"/msi_irqs/*"); err != nil {
		return err
	}
	interfaces, err := l.list(dev + "/net/*")
	if err != nil {
		return err
	}
	paths := []string{dev + "/numa_node", dev + "/current_link_width", dev + "/max_link_width", dev + "/current_link_speed", dev + "/max_link_speed"}
	for _, i := range interfaces {
		net := "/sys/class/net/" + filepath.Base(i)
		paths = append(paths, net+"/carrier", net+"/speed", net+"/duplex")
	}
	if err := l.read(paths...); err != nil {
		return err
	}
	group, ok := l.f.Link[dev+"/iommu_group"]
	if !ok {
		return nil
	}
	members, err := l.list("/sys/kernel/iommu_groups/" + group + "/devices/*")
	if err != nil {
		return err
	}
	for _, other := range members {
		if _, err := l.list(devices + filepath.Base(other) + "/driver"); err != nil {
			return err
		}
	}
	return nil
}

func (l looker) software(m Machine) error {
	dir := "/lib/modules/" + l.f.Text["/proc/sys/kernel/osrelease"]
	if err := l.read(dir+"/modules.dep", dir+"/modules.builtin"); err != nil {
		return err
	}
	if _, err := l.list("/sys/module/*", "/sys/bus/pci/drivers/*"); err != nil {
		return err
	}
	commands := []string{testpmdVersion}
	if m.guests() {
		commands = append(commands, qemuVersion)
	}
	for _, c := range commands {
		argv := strings.Fields(c)
		if l.a.Find(l.ctx, argv[0]) != nil {
			l.f.Absent[argv[0]] = true
			continue
		}
		l.f.Output[c] = l.output(1, argv...)
	}
	if m.Results != "" {
		l.f.Output[dfCommand] = l.output(2, append(strings.Fields(dfCommand), "--", m.Results)...)
	}
	return nil
}

// output is the nth line that a command prints; empty where it fails, which is no
// fact about the machine.
func (l looker) output(n int, argv ...string) string {
	ctx, cancel := context.WithTimeout(l.ctx, commandDeadline)
	defer cancel()
	p, err := l.a.Start(ctx, agent.Spec{Name: argv[0], Argv: argv})
	if err != nil {
		return ""
	}
	con := console.New(argv[0], p, io.Discard)
	if _, err := p.Wait(ctx); err != nil {
		_ = agent.End(context.WithoutCancel(ctx), p)
		return ""
	}
	text, err := con.Wait(ctx, 0, "its answer", func(b []byte) bool { return strings.Count(string(b), "\n") >= n })
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.Split(string(text), "\n")[n-1])
}

// busy watches the processes for a moment.
func (l looker) busy() ([]Busy, error) {
	first, err := l.a.Processes(l.ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(watched):
	case <-l.ctx.Done():
		return nil, context.Cause(l.ctx)
	}
	last, err := l.a.Processes(l.ctx)
	if err != nil {
		return nil, err
	}
	used := map[agent.Identity]time.Duration{}
	for _, t := range first.Task {
		used[t.Identity] = t.Used
	}
	var out []Busy
	for _, t := range last.Task {
		before, known := used[t.Identity]
		if !known || t.Identity == last.Self {
			continue
		}
		share := float64(t.Used-before) / float64(last.Time.Sub(first.Time))
		named := t.Comm == "irqbalance" || t.Comm == "dpdk-testpmd" || t.Comm == "testpmd"
		if share >= pollingShare || named {
			out = append(out, Busy{printable(t.Comm), t.PID, t.CPU, share})
		}
	}
	return out, nil
}

// printable is a process's name, which anybody may choose, without what could
// upset a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
