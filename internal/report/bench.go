package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"sweep/internal/results"
)

// writeBench writes a line a boot in the Go benchmark format, which benchstat
// reads (https://go.dev/design/14313-benchmark-format). What holds for a run
// are its configuration lines; where there are several runs, the run's name is
// one of them, so that benchstat -col run compares them.
func writeBench(w io.Writer, runs []Shown) error {
	fmt.Fprintln(w, "Unit packets/s better=higher")
	fmt.Fprintln(w, "Unit B/s better=higher")
	for _, s := range runs {
		fmt.Fprintln(w)
		if len(runs) > 1 {
			configure(w, "run", s.Name)
		}
		m := s.Run.Machine
		configure(w, "kit", s.Run.Kit)
		configure(w, "cpu", m.CPU)
		configure(w, "kernel", m.Kernel)
		configure(w, "qemu", m.QEMU)
		configure(w, "dpdk", m.DPDK)
		configure(w, "accel", s.Run.Accel)
		configure(w, "wire", s.Run.Plan.Wire)
		for _, system := range s.systems() {
			for _, t := range s.Trials {
				if t.System == system {
					benchLine(w, t)
				}
			}
		}
	}
	return nil
}

// benchLine writes a trial; one that failed as a line that benchstat skips.
func benchLine(w io.Writer, t results.Trial) {
	name := fmt.Sprintf("Transmit/guest=%s/attachment=%s/size=%d", benchName(t.System.Guest), benchName(t.System.Attachment), t.Size)
	if t.Error != "" {
		fmt.Fprintf(w, "# failed in boot %d: %s: %q\n", t.Boot, name, t.Error)
		return
	}
	// MB are 10^6 bytes of frames without FCS, as Go's own MB/s are.
	fmt.Fprintf(w, "Benchmark%s 1 %s packets/s %s MB/s\n", name, plain(t.RxPps), plain(t.RxPps*float64(t.Size)/1e6))
}

// configure writes a configuration line, in one line.
func configure(w io.Writer, key, value string) {
	if value != "" {
		fmt.Fprintf(w, "%s: %s\n", key, strings.Join(strings.Fields(value), " "))
	}
}

// benchName keeps spaces, and what parts a benchmark's name, out of it.
func benchName(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && !strings.ContainsRune("/=", r) {
			return r
		}
		return '_'
	}, s)
}

// plain is a number without an exponent, to a thousandth.
func plain(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".")
}
