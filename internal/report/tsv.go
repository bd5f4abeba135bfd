package report

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"sweep/internal/plan"
)

// The published data of the figure has a file a system, named such as
// unikraft-vhost-user.csv: a header, packetsize<TAB>rx, and a line a size, rx in
// Mpps. [WriteTSVFiles] writes these; [Write] one table with a column a system.

// Published are the systems of the published figure, under whose names its own
// plotting looks for their files.
func Published() []plan.System {
	return slices.DeleteFunc(plan.Known(), func(s plan.System) bool { return s.Guest != "unikraft" && s.Guest != "linux-dpdk" })
}

// tsvName is what a file may be called, whatever a system is.
var tsvName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// tsvSystems are a run's systems, those of the published figure first.
func tsvSystems(s Shown) ([]plan.System, error) {
	systems := s.systems()
	published := Published()
	slices.SortStableFunc(systems, func(a, b plan.System) int { return rank(published, a) - rank(published, b) })
	names := map[string]plan.System{}
	var wrong []string
	for _, system := range systems {
		name := system.FileName()
		if !tsvName.MatchString(name) {
			wrong = append(wrong, fmt.Sprintf("%q can't be the name of a file", name))
		}
		if other, taken := names[name]; taken {
			wrong = append(wrong, fmt.Sprintf("%s and %s would share the name %s", other, system, name))
		}
		names[name] = system
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("tsv: %s", strings.Join(wrong, "; "))
	}
	return systems, nil
}

// rank is a system's place in a list; behind it where it has none.
func rank(list []plan.System, s plan.System) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

// tsvRate is a rate as the published files have it.
func tsvRate(pps float64) string { return strconv.FormatFloat(pps/1e6, 'f', 6, 64) }

// writeTSV writes one table: packetsize and a column a system, nan where there
// is no rate, which R, NumPy and gnuplot skip.
func writeTSV(w io.Writer, runs []Shown) error {
	systems, err := tsvSystems(runs[0])
	if err != nil {
		return err
	}
	points := runs[0].points()
	header := []string{"packetsize"}
	for _, s := range systems {
		header = append(header, s.FileName())
	}
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, size := range sortedSizes(points) {
		row := []string{strconv.Itoa(size)}
		for _, s := range systems {
			value := "nan"
			for _, p := range points {
				if p.System == s && p.Size == size && p.Trials > 0 {
					value = tsvRate(p.RxPps)
				}
			}
			row = append(row, value)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return nil
}

// WriteTSVFiles writes a run's systems into a folder, a file each in the
// published format, and returns the files. A size without a rate has no line, a
// system without any no file.
func WriteTSVFiles(dir string, run Shown) ([]string, error) {
	systems, err := tsvSystems(run)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for _, s := range systems {
		var lines bytes.Buffer
		for _, p := range run.points() {
			if p.System == s && p.Trials > 0 {
				fmt.Fprintf(&lines, "%d\t%s\n", p.Size, tsvRate(p.RxPps))
			}
		}
		if lines.Len() == 0 {
			continue
		}
		file := filepath.Join(dir, s.FileName()+".csv")
		if err := renameio.WriteFile(file, append([]byte("packetsize\trx\n"), lines.Bytes()...), 0o644); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}
