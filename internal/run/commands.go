package run

import (
	"fmt"
	"io"
	"strings"

	"sweep/internal/agent"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/testbed"
	"sweep/vhost"
)

// command is one that a boot runs, to show.
type command struct {
	what string
	line string // quoted, to paste
}

// commands are what a boot starts, in that order.
func (y layout) commands() []command {
	var out []command
	if _, ok := y.port.(vhost.User); ok {
		out = append(out, command{"server", pasteable(y.server.Testpmd().Spec(y.serverHost))})
	}
	return append(out, command{"guest", pasteable(y.vmSpec)}, command{"client", pasteable(y.client.Testpmd().Spec(y.clientHost))})
}

// pasteable is a process's command line for a shell.
func pasteable(s agent.Spec) string {
	line := qemu.Quote(s.Argv)
	if len(s.Env) > 0 {
		line = qemu.Quote(append(append([]string{"env"}, s.Env...), s.Argv...))
	}
	for i, f := range s.Files {
		line += fmt.Sprintf(" %d<>%s", 3+i, qemu.Quote([]string{f}))
	}
	return line
}

// Show writes every command line that a plan would run, and what would be typed
// at which prompt, without touching the machine.
func (l *Lab) Show(w io.Writer, p plan.Plan) error {
	const dir = "/tmp/sweep-dry-run"
	fmt.Fprintf(w, "# CPUs:     forwarder %d, guest %d, client %d, the rest %v%s\n",
		l.Placement.Forwarder, l.Placement.Guest, l.Placement.Client, l.Placement.House, shareNote(l.Placement.Share))
	fmt.Fprintf(w, "mkdir -m 700 %s\n", dir)
	// What a tap's number will be nobody knows before it is there.
	joined := &testbed.Joined{Tap: vhost.Tap{Device: "/dev/tapN"}}
	if holder := l.Wire.Holder(); holder != nil {
		fmt.Fprintf(w, "\n# the wire, in a shell of its own; HOLDER is its pid:\n%s\n", qemu.Quote(holder))
		joined.Enter = l.Wire.Enter("$HOLDER")
	}
	shown := map[plan.System]bool{}
	for _, b := range p.Boots() {
		if shown[b.System] {
			continue // its other boots run the same
		}
		shown[b.System] = true
		fmt.Fprintf(w, "\n# %s: %d boots, each command in a shell of its own\n", b.System, p.Trials)
		lay := l.lay(b.System, dirs{dir, dir}, joined)
		for _, c := range lay.commands() {
			// The only word that a shell must expand.
			fmt.Fprintf(w, "\n# %s\n%s\n", c.what, strings.ReplaceAll(c.line, "'$HOLDER'", `"$HOLDER"`))
			switch c.what {
			case "server":
				for _, t := range lay.server.Typed() {
					note := ""
					if t == "start" {
						note = "   (last of all)"
					}
					fmt.Fprintf(w, "#   testpmd> %s%s\n", t, note)
				}
				if r, ok := l.Wire.(testbed.Relayed); ok {
					fmt.Fprintf(w, "\n# relay\n%s\n", pasteable(r.Spec(dir, l.Placement)))
				}
			case "client":
				fmt.Fprintf(w, "#   testpmd> start\n#   testpmd> show port stats %d   (as a window begins, and as it ends)\n", clientPort)
			case "guest":
				for _, size := range p.Sizes {
					for _, t := range l.Guests[b.System.Guest].Typed(size) {
						fmt.Fprintf(w, "#   guest> %s\n", t)
					}
				}
			}
		}
	}
	return nil
}

func shareNote(share string) string {
	switch share {
	case "cpu":
		return " (pollers share a CPU)"
	case "core":
		return " (pollers share a core)"
	}
	return ""
}
