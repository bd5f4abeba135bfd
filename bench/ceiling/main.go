// Command ceiling checks that bare is the ceiling that it is meant to be: at
// 64 B its rate in the lab is at least that of every other system. The systems
// take turns, each boot's rate is compared with bare's of the same round, and
// what else ran is in the folder's record.
//
//	go run ./bench/ceiling
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"sweep/internal/bare"
	"sweep/internal/plan"
	"sweep/internal/results"
)

func main() {
	rounds := flag.Int("rounds", 5, "boots of each system")
	size := flag.Int("size", 64, "packet length in bytes, without FCS")
	sweep := flag.String("sweep", "./sweep", "the program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	below, err := run(ctx, os.Stdout, *sweep, *rounds, *size)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ceiling:", err)
		os.Exit(1)
	}
	if below {
		os.Exit(1)
	}
}

// run measures, and says whether bare was below another system in a round.
func run(ctx context.Context, w io.Writer, sweep string, rounds, size int) (below bool, err error) {
	dir, err := os.MkdirTemp("", "ceiling-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "results")
	cmd := exec.CommandContext(ctx, sweep, "--sizes", strconv.Itoa(size), "--trials", strconv.Itoa(rounds), "--results", folder)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if _, err := cmd.Output(); err != nil {
		return false, fmt.Errorf("%s: %w", sweep, err)
	}
	_, trials, _, err := results.Load(folder)
	if err != nil {
		return false, err
	}
	ceiling := map[int]float64{} // of each round
	for _, t := range trials {
		if t.System.Guest == bare.Name {
			ceiling[t.Round] = t.RxPps
		}
	}
	var order []plan.System
	rates, shares := map[plan.System][]float64{}, map[plan.System][]float64{}
	for _, t := range trials {
		if rates[t.System] == nil {
			order = append(order, t.System)
		}
		rates[t.System] = append(rates[t.System], t.RxPps/1e6)
		share := t.RxPps / ceiling[t.Round]
		shares[t.System] = append(shares[t.System], share)
		below = below || share > 1
	}
	for _, s := range order {
		fmt.Fprintf(w, "%-26s median %.3f Mpps, median share of bare's %.3f; rounds %.3f\n",
			s, results.Median(rates[s]), results.Median(shares[s]), rates[s])
	}
	if below {
		fmt.Fprintln(w, "bare was below another system in a round")
	} else {
		fmt.Fprintln(w, "bare was at or above every other system in every round")
	}
	return below, nil
}
