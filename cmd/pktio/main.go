// Command pktio sends frames at a rate, and passes them on with faults, through
// DPDK: what the kit's tests measure it with. See docs/pktio.md and pktio --help.
//
// It polls on one thread, on one CPU, and listens on standard input: whoever
// started it can tell it what to do there, and when that is closed it ends.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sweep/internal/fault"
	"sweep/internal/pktio"
)

// Exit codes, as the kit's own.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := newCommand()
	err := root.ExecuteContext(ctx)
	var failed failure
	switch {
	case err == nil:
	case errors.As(err, &failed):
		fmt.Println(failed)
		os.Exit(exitFailed)
	default:
		fmt.Fprintf(os.Stderr, "pktio: %v\nRun 'pktio --help' for what there is.\n", err)
		os.Exit(exitUsage)
	}
}

// failure is an error of what was to be done, and none of the command line, with
// the words that begin the lines of who says it: a guest's last words are a line
// of the protocol (docs/guests.md).
type failure struct {
	who string
	err error
}

func (f failure) Error() string { return f.who + ": error " + f.err.Error() }

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "pktio",
		Short:         "Send frames at a rate, or pass them on with faults, through DPDK",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newSendCommand(), newRelayCommand())
	return root
}

// portFlags are what DPDK is started with.
type portFlags struct {
	vdevs  []string
	cpu    int
	memory int
	prefix string
}

func (f *portFlags) add(c *cobra.Command, vdev string) {
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringArrayVar(&f.vdevs, "vdev", nil, vdev)
	fl.IntVar(&f.cpu, "cpu", -1, "the CPU to poll on (default any that this process may use)")
	fl.IntVar(&f.memory, "memory", 256, "MiB of memory, of ordinary pages")
	fl.StringVar(&f.prefix, "file-prefix", fmt.Sprintf("pktio-%d", os.Getpid()), "what tells this DPDK process from others")
}

// config checks the flags. All that is wrong is said at once.
func (f portFlags) config(ports int, wrong ...error) (pktio.Config, error) {
	c := pktio.Config{Vdevs: f.vdevs, MemoryMiB: f.memory, Prefix: f.prefix}
	if len(f.vdevs) != ports {
		wrong = append(wrong, fmt.Errorf("--vdev is needed %d times and was given %d times", ports, len(f.vdevs)))
	}
	if f.memory < 64 || f.memory > 1<<16 {
		wrong = append(wrong, fmt.Errorf("--memory %d: it can have 64 to %d MiB", f.memory, 1<<16))
	}
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		wrong = append(wrong, fmt.Errorf("which CPUs there are: %w", err))
	}
	for cpu := range len(mine) * 64 {
		if mine.IsSet(cpu) && (f.cpu < 0 || f.cpu == cpu) {
			c.CPUs = append(c.CPUs, cpu)
		}
	}
	if len(c.CPUs) == 0 {
		wrong = append(wrong, fmt.Errorf("--cpu %d: this process may not run there", f.cpu))
	}
	return c, errors.Join(wrong...)
}

// start starts DPDK, with a folder for its runtime files that goes with it
// where nobody else said where they go.
func start(c pktio.Config) (d *pktio.DPDK, end func(), err error) {
	end = func() {}
	if os.Getenv("RUNTIME_DIRECTORY") == "" {
		dir, err := os.MkdirTemp("", "pktio-")
		if err != nil {
			return nil, nil, err
		}
		os.Setenv("RUNTIME_DIRECTORY", dir)
		end = func() { os.RemoveAll(dir) }
	}
	if d, err = pktio.Start(c); err != nil {
		end()
		return nil, nil, err
	}
	remove := end
	return d, func() { d.Close(); remove() }, nil
}

// typed are the lines that come in on standard input, until it is closed.
func typed() <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return lines
}

func newSendCommand() *cobra.Command {
	var f portFlags
	var o pktio.SendOptions
	var to string
	c := &cobra.Command{
		Use:   "send --vdev DEVICE [flags]",
		Short: "Send frames of one size, so many, at a rate",
		Long: `Send frames of one size on a port of DPDK's, and count exactly how many were
handed over. With --rate they leave one by one at their deadlines; who comes late
sends what it missed, so that the mean rate holds.

Without --size it does what it is told on standard input, as a guest of the kit
does (docs/guests.md): send SIZE [PACKETS], stop, quit.`,
		Example: `  pktio send --vdev net_virtio_user0,path=/tmp/vhost.sock,queue_size=1024 --rate 100000
  pktio send --vdev net_memif0,role=client,socket=/tmp/m.sock,socket-abstract=no --size 64 --count 1000000
  pktio send --vdev net_null0 --size 64 --duration 2s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			mac, err := net.ParseMAC(to)
			if err != nil || len(mac) != 6 {
				err = fmt.Errorf("--to %s: no Ethernet address", to)
			}
			o.To = mac
			config, err := f.config(1, err, checkSend(o))
			if err != nil {
				return err
			}
			d, end, err := start(config)
			if err != nil {
				return failure{"sweep-guest", err}
			}
			defer end()
			s, err := d.Sender(0)
			if err == nil {
				about := "dpdk=" + strings.ReplaceAll(strings.TrimPrefix(d.Version(), "DPDK "), " ", "-")
				err = pktio.Send(cmd.Context(), typed(), cmd.OutOrStdout(), s, o, about)
			}
			if err != nil {
				return failure{"sweep-guest", err}
			}
			return nil
		},
	}
	f.add(c, "DPDK's device to send on, as EAL's --vdev has it")
	fl := c.Flags()
	fl.Uint64Var(&o.Rate, "rate", 0, "frames a second (default as fast as the port takes them)")
	fl.IntVar(&o.Size, "size", 0, "send at once, frames of so many bytes without FCS")
	fl.Uint64Var(&o.Count, "count", 0, "with --size: end after so many frames")
	fl.DurationVar(&o.Duration, "duration", 0, "with --size: end after so long")
	fl.StringVar(&to, "to", "02:00:00:00:00:00", "Ethernet destination")
	return c
}

// maxRate is far below what overflows the deadlines' arithmetic, and above what
// any port takes.
const maxRate = 1_000_000_000

// checkSend says all that is wrong with what a sender is told.
func checkSend(o pktio.SendOptions) error {
	var wrong []error
	if o.Size != 0 && (o.Size < pktio.SizeMin || o.Size > pktio.SizeMax) {
		wrong = append(wrong, fmt.Errorf("--size %d: a frame has %d to %d bytes, without FCS", o.Size, pktio.SizeMin, pktio.SizeMax))
	}
	if o.Size == 0 && (o.Count > 0 || o.Duration > 0) {
		wrong = append(wrong, errors.New("--count and --duration need --size beside them"))
	}
	if o.Duration < 0 {
		wrong = append(wrong, fmt.Errorf("--duration %v is no time", o.Duration))
	}
	if o.Rate > maxRate {
		wrong = append(wrong, fmt.Errorf("--rate %d: up to %d frames a second can be asked for", o.Rate, maxRate))
	}
	return errors.Join(wrong...)
}

func newRelayCommand() *cobra.Command {
	var f portFlags
	var text string
	c := &cobra.Command{
		Use:   "relay --vdev FROM --vdev TO [flags]",
		Short: "Pass frames on from one port to another, with faults",
		Long: `Pass what comes in at the first port on to the second, in order and without loss:
where the second has no room, nothing more is taken from the first. --fault, or a
line typed on standard input while it runs, plants faults:

` + fault.Grammar + `

"stats" prints the counters, which are exact; they are its last word as well.`,
		Example: `  pktio relay --vdev net_memif0,id=0,role=server,socket=/tmp/a.sock,socket-abstract=no \
    --vdev net_memif1,id=1,role=server,socket=/tmp/b.sock,socket-abstract=no --fault drop=1000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			planted, err := fault.Parse(text)
			config, err := f.config(2, err)
			if err != nil {
				return err
			}
			d, end, err := start(config)
			if err != nil {
				return failure{"pktio-relay", err}
			}
			defer end()
			r, err := d.Relay(0, 1)
			if err == nil {
				err = pktio.Pass(cmd.Context(), typed(), cmd.OutOrStdout(), r, planted)
			}
			if err != nil {
				return failure{"pktio-relay", err}
			}
			return nil
		},
	}
	f.add(c, "DPDK's devices, as EAL's --vdev has them: where frames come from, and where they go")
	c.Flags().StringVar(&text, "fault", "none", "faults to begin with")
	return c
}
