// Command sweep measures how many packets a second a guest can transmit. See
// the README, and sweep --help.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"sweep/internal/agent"
	"sweep/internal/cli"
)

// version is set by the linker (see prepare.sh).
var version = "unknown"

func main() {
	if len(os.Args) > 1 && os.Args[1] == agent.ChildCommand {
		agent.RunChild()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	// Never reset: a second Ctrl-C must not cut the giving-back short.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel(errors.New("interrupted"))
	}()
	os.Exit(cli.Main(ctx, version, os.Args[1:], os.Stdout, os.Stderr))
}
