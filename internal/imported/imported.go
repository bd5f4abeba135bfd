// Package imported makes runs of what other tools, hands and papers measured:
// of the published data, of files in its format, of logs of testpmd. They can
// be shown and compared like any run; what they lack, which is most of what
// makes a number hold, is a caveat of each trial.
package imported

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/published"
	"sweep/internal/results"
)

// File is one that is imported.
type File struct {
	Name string // as it was given
	Data []byte
}

// Imported is a run that was made of something else.
type Imported struct {
	Run    results.Run
	Trials []results.Trial
	Logs   []File   // to be kept with the run, byte by byte
	Said   []string // what was taken for what, and what was left out
}

// What imported numbers lack, a caveat each.
const (
	noSpread  = "imported: one number, and nothing says how far another boot would be from it"
	noLedger  = "imported: no ledger, so that nothing says what was lost on the way"
	noSize    = "imported: the true size of what arrived is not known"
	noMachine = "imported: the machine, its set-up and how long was counted are not known"
)

// Paper is the published figure's 24 points as a run.
func Paper() Imported {
	var trials []results.Trial
	for _, p := range published.Points() {
		trials = append(trials, results.Trial{
			Trial: plan.Trial{System: p.System, Size: p.Size},
			RxPps: p.RxPps, Findings: caveats(append(published.About(), noLedger, noSize)...),
		})
	}
	return newRun("the published data of Figure 19 (EuroSys'21, experiments/fig_19_compare-dpdk)", "10GbE", trials)
}

// newRun makes a run of trials, one block of them or several by their Round.
func newRun(from, wire string, trials []results.Trial) Imported {
	p := plan.Plan{Wire: wire, Trials: 1}
	for i := range trials {
		t := &trials[i]
		t.Round = max(t.Round, 1)
		p.Trials = max(p.Trials, t.Round)
		if !slices.Contains(p.Systems, t.System) {
			p.Systems = append(p.Systems, t.System)
		}
		if !slices.Contains(p.Sizes, t.Size) {
			p.Sizes = append(p.Sizes, t.Size)
		}
	}
	// As in a run of the kit's own: a boot is of one system, and a block is a
	// boot of each.
	for i := range trials {
		t := &trials[i]
		t.Boot = (t.Round-1)*len(p.Systems) + slices.Index(p.Systems, t.System) + 1
	}
	slices.Sort(p.Sizes)
	return Imported{Run: results.Run{Plan: p, Imported: from}, Trials: trials}
}

func caveats(texts ...string) []audit.Finding {
	out := make([]audit.Finding, len(texts))
	for i, t := range texts {
		out[i] = audit.Finding{Kind: audit.Caveat, Text: t}
	}
	return out
}

// CSV makes a run of files in the published format: a header
// packetsize<TAB>rx, then a line a size, rx in Mpps. The file's name says the
// system, such as linux-dpdk-vhost-user.csv. All that is wrong is said at
// once, each with its line.
func CSV(files []File) (Imported, error) {
	var trials []results.Trial
	var wrong []error
	of := map[plan.System]string{}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Name))
		s, err := systemOf(f.Name)
		if err != nil {
			wrong = append(wrong, err)
		} else if other, ok := of[s]; ok {
			wrong = append(wrong, fmt.Errorf("%s and %s are both of %s", other, f.Name, s))
		} else {
			of[s] = f.Name
		}
		points, errs := readCSV(f)
		wrong = append(wrong, errs...)
		for _, p := range points {
			trials = append(trials, results.Trial{
				Trial: plan.Trial{System: s, Size: p.Size},
				RxPps: p.RxPps, Findings: caveats(noSpread, noLedger, noSize, noMachine),
			})
		}
	}
	if len(wrong) > 0 {
		return Imported{}, errors.Join(wrong...)
	}
	return newRun("files in the published format: "+strings.Join(names, ", "), "unknown", trials), nil
}

// systemOf reads a system's name in the published data out of a file's.
func systemOf(file string) (plan.System, error) {
	name := filepath.Base(file)
	name = strings.TrimSuffix(name, filepath.Ext(name))
	for _, attachment := range []string{"vhost-user", "vhost-net"} {
		if guest, ok := strings.CutSuffix(name, "-"+attachment); ok && guest != "" {
			return ParseSystem(guest + "/" + attachment)
		}
	}
	return plan.System{}, fmt.Errorf("%s: the file's name says the system, GUEST-vhost-user or GUEST-vhost-net, such as linux-dpdk-vhost-user.csv; %q doesn't", file, name)
}

var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// ParseSystem reads GUEST/ATTACHMENT. Both may be ones that the kit has no name
// for.
func ParseSystem(name string) (plan.System, error) {
	guest, attachment, ok := strings.Cut(name, "/")
	if !ok || !word.MatchString(guest) || !word.MatchString(attachment) {
		return plan.System{}, fmt.Errorf("%q is no system: write GUEST/ATTACHMENT, such as linux-dpdk/vhost-user, in letters, digits, dots and dashes", name)
	}
	return plan.System{Guest: guest, Attachment: attachment}, nil
}

// fastest is more than any port carries, in Mpps: 800 Gb/s of the shortest
// frames. What is above it was not written in Mpps.
const fastest = 1500

func readCSV(f File) (points []published.Point, wrong []error) {
	bad := func(line int, format string, a ...any) {
		wrong = append(wrong, fmt.Errorf("%s:%d: %s", f.Name, line, fmt.Sprintf(format, a...)))
	}
	text := strings.TrimPrefix(string(f.Data), "\ufeff")
	n, seen := 0, map[int]int{}
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if n == 1 {
			if line != "packetsize\trx" {
				bad(n, "the header is %q, not packetsize<TAB>rx", line)
			}
			continue
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		size, rate, ok := strings.Cut(line, "\t")
		if !ok || strings.Contains(rate, "\t") {
			bad(n, "%q is not a size, a tab and a rate in Mpps", line)
			continue
		}
		bytes, err := strconv.ParseUint(strings.TrimSpace(size), 10, 16)
		if err != nil || bytes == 0 {
			bad(n, "%q is no size in bytes", size)
			continue
		}
		mpps, err := strconv.ParseFloat(strings.TrimSpace(rate), 64)
		switch {
		case err != nil || math.IsNaN(mpps) || mpps <= 0:
			bad(n, "%q is no rate", rate)
			continue
		case mpps > fastest:
			bad(n, "%s Mpps is more than any port carries: rx is in millions of packets a second", strings.TrimSpace(rate))
			continue
		}
		if before := seen[int(bytes)]; before > 0 {
			bad(n, "size %d is there twice, in line %d too", bytes, before)
			continue
		}
		seen[int(bytes)] = n
		points = append(points, published.Point{Size: int(bytes), RxPps: mpps * 1e6})
	}
	if len(points) == 0 && len(wrong) == 0 {
		wrong = append(wrong, fmt.Errorf("%s: it holds no point", f.Name))
	}
	return points, wrong
}

// Write makes the run's folder. The folder's own rules hold: one that holds a
// run already is refused.
func (i Imported) Write(path, version string, command []string) (err error) {
	run := i.Run
	run.Kit, run.Command = version, command
	f, err := results.Create(path, run)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	names := map[string]bool{}
	for _, log := range i.Logs {
		w, err := f.Console(consoleName(log.Name, names))
		if err != nil {
			return err
		}
		if _, err := w.Write(log.Data); err != nil {
			return err
		}
	}
	for _, t := range i.Trials {
		if err := f.Append(t); err != nil {
			return err
		}
	}
	return nil
}

// consoleName is what a log is called in the folder, each its own.
func consoleName(file string, taken map[string]bool) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	taken[name] = true
	return name
}
