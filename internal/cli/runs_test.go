package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/internal/reproduce"
	"sweep/internal/results"
)

// sweepWith runs the whole program with some arguments and returns what it
// printed and its exit code.
func sweepWith(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(t.Context(), "test", args, &o, &e)
	return o.String(), e.String(), code
}

// importedPaper is a folder with the published points.
func importedPaper(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "paper")
	out, errs, code := sweepWith(t, "import", "paper", "-o", dir)
	if code != 0 || errs != "" || !strings.Contains(out, "24 rates") {
		t.Fatalf("exit code %d, %q, %q", code, out, errs)
	}
	return dir
}

// Each kind, imported and then shown by report, which knows nothing of where
// it is from, with what it lacks beside it.
func TestImportThenReport(t *testing.T) {
	work := t.TempDir()
	csv := filepath.Join(work, "linux-dpdk-vhost-net.csv")
	if err := os.WriteFile(csv, []byte("packetsize\trx\n64\t1.651603\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		want []string // in the report
		said string
	}{
		"paper": {[]string{"paper"}, []string{"unikraft/vhost-net", "14.2", "1.65", "one number a point", "no ledger"}, ""},
		"csv":   {[]string{"csv", csv}, []string{"linux-dpdk/vhost-net", "1.65", "how far another boot would be", "the machine"}, ""},
		"testpmd": {[]string{"testpmd", cases + "28-A-vhost-log-interleaved-peer-closed.txt", "--system", "mine/vhost-user"},
			[]string{"mine/vhost-user", "128", "0.0316", "testpmd's own Rx-pps"}, ":57: no point: the vhost peer had left"},
		"testpmd, port and size": {[]string{"testpmd", cases + "06-A-counters-not-cleared-between-sizes.txt", "--system", "mine/vhost-user", "--port", "0", "--size", "64"},
			[]string{"mine/vhost-user", "64", "14.2", "of one show"}, ""},
	} {
		dir := filepath.Join(work, name)
		out, errs, code := sweepWith(t, append(append([]string{"import"}, tt.args...), "-o", dir)...)
		if code != 0 || !strings.Contains(errs, tt.said) || !strings.Contains(out, dir) {
			t.Errorf("%s: exit code %d, %q, %q", name, code, out, errs)
			continue
		}
		for _, format := range []string{"table", "json"} {
			out, errs, code = sweepWith(t, "report", dir, "--format", format)
			if code != 0 || errs != "" {
				t.Errorf("%s: report: exit code %d, %q", name, code, errs)
			}
			if format == "json" {
				continue
			}
			for _, w := range tt.want {
				if !strings.Contains(out, w) {
					t.Errorf("%s: the report lacks %q:\n%s", name, w, out)
				}
			}
		}
		if _, errs, code := sweepWith(t, append(append([]string{"import"}, tt.args...), "-o", dir)...); code != 1 || !strings.Contains(errs, "holds a run already") {
			t.Errorf("%s, a second time: exit code %d, %q", name, code, errs)
		}
	}
}

// All that is wrong with a command line is said at once, and nothing is made.
func TestRefusedCommandLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	paper := importedPaper(t)
	log := cases + "28-A-vhost-log-interleaved-peer-closed.txt"
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"import"}, []string{"takes a kind"}},
		{[]string{"import", "pcap", "x"}, []string{`no kind "pcap"`}},
		{[]string{"import", "paper", "x"}, []string{"takes no file", "with -o which folder"}},
		{[]string{"import", "csv", "-o", dir}, []string{"name the files"}},
		{[]string{"import", "csv", "nowhere-vhost-net.csv", log, "-o", dir}, []string{"nowhere-vhost-net.csv", "the file's name says the system", "the header is"}},
		{[]string{"import", "testpmd", log, "--port", "-7", "--size", "3"}, []string{"--system", "--port -7", "--size 3", "-o which folder"}},
		{[]string{"import", "testpmd", log, "--system", "x", "--port", "5", "-o", dir}, []string{`"x" is no system`, "no block of port 5"}},
		{[]string{"import", "testpmd", "--sistem", "x"}, []string{"unknown flag: --sistem"}},
		{[]string{"compare", paper}, []string{"takes two runs, A and B; 1 were given"}},
		{[]string{"compare", paper, "nowhere", "--format", "xml"}, []string{"nowhere", `"xml" is unknown`}},
		{[]string{"compare", paper, t.TempDir()}, []string{"holds no run"}},
		{[]string{"compare", paper, paper, "--fast"}, []string{"unknown flag"}},
		{[]string{"paper"}, []string{"takes one run, a folder or an archive; 0 were given"}},
		{[]string{"paper", "nowhere", "--format", "csv"}, []string{"nowhere", `"csv" is unknown`}},
		{[]string{"bundle", "nowhere", log, "--replace", "ab"}, []string{"takes one folder of results; 2 were given", "nowhere", "is no folder", `--replace "ab"`}},
		{[]string{"bundle", t.TempDir(), "-o", dir}, []string{"holds no run"}},
	} {
		out, errs, code := sweepWith(t, tt.args...)
		if code != exitUsage || out != "" {
			t.Errorf("%q: exit code %d, it printed %q and %q", tt.args, code, out, errs)
		}
		for _, w := range tt.want {
			if !strings.Contains(errs, w) {
				t.Errorf("%q: %q lacks %q", tt.args, errs, w)
			}
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q made something: %v", tt.args, err)
		}
	}
}

// An archive stands for the folder that it was made of.
func TestArchiveForFolder(t *testing.T) {
	paper := importedPaper(t)
	archive := filepath.Join(t.TempDir(), "a.tar.gz")
	out, errs, code := sweepWith(t, "bundle", paper, "-o", archive, "--replace", "EuroSys")
	if code != 0 || errs != "" || !strings.Contains(out, "24 trials") || !strings.Contains(out, "word: EuroSys by word1xx; 1 times") {
		t.Fatalf("exit code %d, %q, %q", code, out, errs)
	}
	if _, errs, code := sweepWith(t, "bundle", paper, "-o", archive); code != exitFailed || !strings.Contains(errs, "is there already") {
		t.Errorf("over an archive: exit code %d, %q", code, errs)
	}
	out, errs, code = sweepWith(t, "compare", paper, archive)
	if code != 0 || errs != "" || !strings.Contains(out, "word1xx'21") || strings.Count(out, "1.0000") != 24 {
		t.Errorf("exit code %d, %q:\n%s", code, errs, out)
	}
	want, _, _ := sweepWith(t, "paper", paper, "--format", "json")
	got, _, _ := sweepWith(t, "paper", archive, "--format", "json")
	var a, b reproduce.Report
	if err := errors.Join(json.Unmarshal([]byte(want), &a), json.Unmarshal([]byte(got), &b)); err != nil {
		t.Fatal(err)
	}
	if len(a.Points) != 24 || a.Count(reproduce.NotComparable) != 24 || len(b.Points) != 24 || b.Points[7].RxPps != a.Points[7].RxPps {
		t.Errorf("%s\n%s", want, got)
	}
	// Nothing that was unpacked stays.
	t.Setenv("TMPDIR", t.TempDir())
	want, _, _ = sweepWith(t, "report", paper, "--format", "csv")
	if got, errs, code := sweepWith(t, "report", archive, "--format", "csv"); code != 0 || errs != "" || got != want || strings.Count(got, "\n") != 25 {
		t.Errorf("report: exit code %d, %q, %q; want\n%s", code, errs, got, want)
	}
	if got, errs, code := sweepWith(t, "report", paper, archive); code != 0 || errs != "" || !strings.Contains(got, paper+"\n") || !strings.Contains(got, archive+"\n") {
		t.Errorf("report of both: exit code %d, %q, %q", code, errs, got)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	broken := filepath.Join(t.TempDir(), "b.tar.gz")
	whole, err := os.ReadFile(archive)
	if err == nil {
		err = os.WriteFile(broken, whole[:len(whole)/2], 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"paper", "report"} {
		if _, errs, code := sweepWith(t, command, broken); code != exitFailed || !strings.Contains(errs, "unpack") {
			t.Errorf("%s of half an archive: exit code %d, %q", command, code, errs)
		}
	}
}

// A line that is damaged is said, and is the exit code; the rest is shown.
func TestDamagedRun(t *testing.T) {
	paper := importedPaper(t)
	f, err := os.OpenFile(filepath.Join(paper, "trials.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("{\"system\"\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"paper", paper}, {"compare", paper, importedPaper(t)}} {
		out, errs, code := sweepWith(t, args...)
		if code != exitFailed || !strings.Contains(errs, "trials.jsonl:25") || !strings.Contains(out, "linux-dpdk/vhost-net") {
			t.Errorf("%q: exit code %d, %q", args, code, errs)
		}
	}
}

// Counts of `sweep cost` are no rates.
func TestCostsAreNoRates(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cost")
	f, err := results.Create(dir, results.Run{})
	if err == nil {
		err = errors.Join(f.AppendCost(results.Cost{}), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := sweepWith(t, "paper", dir); code != exitUsage || !strings.Contains(errs, "counts of `sweep cost`") {
		t.Errorf("exit code %d, %q", code, errs)
	}
	archive := filepath.Join(t.TempDir(), "cost.tar.gz")
	if _, errs, code := sweepWith(t, "bundle", dir, "-o", archive); code != 0 {
		t.Fatalf("bundle: exit code %d, %q", code, errs)
	}
	want, _, _ := sweepWith(t, "report", dir)
	if got, errs, code := sweepWith(t, "report", archive); code != 0 || errs != "" || got == "" || got != want {
		t.Errorf("report: exit code %d, %q, %q; want %q", code, errs, got, want)
	}
	if _, errs, code := sweepWith(t, "report", archive, "--format", "svg"); code != exitUsage || !strings.Contains(errs, archive+" holds counts") {
		t.Errorf("report as svg: exit code %d, %q", code, errs)
	}
}

// A tape that can't be read is against a run; one that was never recorded, for
// the run was imported, is not.
func TestPaperWithoutTape(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	f, err := results.Create(dir, results.Run{})
	if err == nil {
		err = errors.Join(f.Append(results.Trial{RxPps: 1e6}), f.Close())
	}
	if err == nil {
		err = os.Remove(filepath.Join(dir, "tape.jsonl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "numbers follow again from the raw readings: no. open " + dir + "/tape.jsonl", importedPaper(t): "raw readings: can't say"} {
		if out, errs, code := sweepWith(t, "paper", path); code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %q, %s\nlacks %q", code, errs, out, want)
		}
	}
}
