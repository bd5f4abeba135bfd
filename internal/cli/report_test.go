package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/internal/results"
)

// figure19 is a run's folder: the published figure's 24 points.
const figure19 = "../report/testdata/figure19"

func runReport(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(context.Background(), "test", append([]string{"report"}, args...), &o, &e)
	return code, o.String(), e.String()
}

func TestReportUsage(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
		want string // in what it says
	}{
		{nil, 2, "requires at least 1 arg"},
		{[]string{filepath.Join(dir, "nowhere")}, 2, "holds no run"},
		{[]string{figure19, "--format", "xml"}, 2, "benchfmt, tsv, svg, png, html"},
		{[]string{figure19, "-o", filepath.Join(dir, "a.doc")}, 2, "its ending names no format"},
		{[]string{figure19, figure19, "--format", "tsv"}, 2, "tsv holds one run, not 2"},
		{[]string{figure19, "-o", filepath.Join(dir, "no", "such", "a.csv")}, 1, "a.csv"},
	} {
		code, out, errs := runReport(t, tt.args...)
		if code != tt.code || !strings.Contains(errs, tt.want) || out != "" {
			t.Errorf("%v: exit code %d, it said %q and printed %q", tt.args, code, errs, out)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A file's ending says the format, and what is in the file is what standard
// output would have had.
func TestReportFile(t *testing.T) {
	dir := t.TempDir()
	for ending, format := range map[string]string{"txt": "table", "md": "markdown", "csv": "csv", "json": "json",
		"bench": "benchfmt", "tsv": "tsv", "svg": "svg", "png": "png", "html": "html"} {
		file := filepath.Join(dir, "report."+ending)
		if code, out, errs := runReport(t, figure19, "-o", file); code != 0 || out != "" || errs != "" {
			t.Errorf("%s: exit code %d: %s%s", ending, code, out, errs)
		}
		code, want, _ := runReport(t, figure19, "--format", format)
		got, err := os.ReadFile(file)
		if err != nil || code != 0 || want == "" || string(got) != want {
			t.Errorf("%s: %v: %d bytes in the file, %d printed", ending, err, len(got), len(want))
		}
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 9 {
		t.Errorf("%d files, want 9: %v", len(files), files)
	}
}

func TestReportTSVFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rawdata")
	code, _, errs := runReport(t, figure19, "--format", "tsv", "-o", dir)
	if code != 0 || strings.Count(errs, "wrote") != 4 || strings.Contains(errs, "also has") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	got, err := os.ReadFile(filepath.Join(dir, "linux-dpdk-vhost-net.csv"))
	const want = "packetsize\trx\n64\t1.651603\n128\t1.579300\n256\t1.504359\n512\t1.481836\n1024\t1.192736\n1500\t0.820075\n"
	if err != nil || string(got) != want {
		t.Errorf("%v: %q", err, got)
	}
}

// Runs whose folders have the same name are told apart.
func TestReportTwo(t *testing.T) {
	other := filepath.Join(t.TempDir(), "figure19")
	if err := os.CopyFS(other, os.DirFS(figure19)); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runReport(t, figure19, other, "--format", "json")
	var got struct {
		Runs []struct {
			Run    string
			Points []struct{}
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit code %d: %v: %s", code, err, errs)
	}
	if len(got.Runs) != 2 || got.Runs[0].Run != figure19 || got.Runs[1].Run != other || len(got.Runs[1].Points) != 24 {
		t.Errorf("%+v", got)
	}
}

// A damaged line is said, the rest is shown, and the exit code is 1.
func TestReportDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(dir, os.DirFS(figure19)); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "trials.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("{\"system\":\"unikr")
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	code, out, errs := runReport(t, dir)
	if code != 1 || !strings.Contains(errs, "trials.jsonl:25: no trial") || !strings.Contains(out, "│ 1500 │") {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}
}

// Counts of `sweep cost` have two formats, and come one folder a time.
func TestReportCosts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "costs")
	f, err := results.Create(dir, results.Run{})
	if err == nil {
		err = f.AppendCost(results.Cost{Error: "it never counted"})
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "costs.json")
	if code, _, errs := runReport(t, dir, "-o", file); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), "it never counted") {
		t.Errorf("%v: %s", err, got)
	}
	for _, args := range [][]string{{dir, "--format", "svg"}, {dir, figure19}} {
		if code, out, errs := runReport(t, args...); code != 2 || !strings.Contains(errs, "sweep cost") || out != "" {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}
