package imported

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sweep/internal/plan"
	"sweep/internal/results"
)

var (
	ukUser = plan.System{Guest: "unikraft", Attachment: "vhost-user"}
	lxNet  = plan.System{Guest: "linux-dpdk", Attachment: "vhost-net"}
)

func TestPaper(t *testing.T) {
	p := Paper()
	if len(p.Trials) != 24 || len(p.Run.Plan.Systems) != 4 || len(p.Run.Plan.Sizes) != 6 || p.Run.Plan.Trials != 1 || p.Run.Imported == "" {
		t.Errorf("%d trials, plan %+v", len(p.Trials), p.Run.Plan)
	}
	// The last of the published table: linux-dpdk-vhost-net at 1500.
	last := p.Trials[23]
	if last.System != lxNet || last.Size != 1500 || last.RxPps != 820_075 || last.Boot != 4 || last.Round != 1 || last.Ledger != nil {
		t.Errorf("the last point is %+v", last)
	}
	for _, x := range p.Trials {
		if len(x.Warnings()) < 3 {
			t.Errorf("%v lacks its caveats: %q", x.Trial, x.Warnings())
		}
	}
}

// What was written is what a run of the kit's own would be: Load reads it, and
// the files in the published format are the published ones again.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "paper")
	p := Paper()
	p.Logs = []File{{"a/x.log", []byte("one\x00")}, {"b/x.txt", []byte("two")}}
	if err := p.Write(dir, "test", []string{"sweep", "import", "paper"}); err != nil {
		t.Fatal(err)
	}
	run, trials, problems, err := results.Load(dir)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if d := cmp.Diff(p.Trials, trials); d != "" || run.Imported != p.Run.Imported || run.Kit != "test" {
		t.Errorf("%+v\n%s", run, d)
	}
	for name, want := range map[string]string{
		"unikraft-vhost-net.csv": "packetsize\trx\n64\t1.658948\n128\t1.569004\n256\t1.485561\n512\t1.479291\n1024\t1.189664\n1500\t0.818891\n",
		"console/x.log":          "one\x00", "console/x-2.log": "two",
	} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v; want %q", name, b, err, want)
		}
	}
	if err := p.Write(dir, "test", nil); err == nil || !strings.Contains(err.Error(), "holds a run already") {
		t.Errorf("written twice: %v", err)
	}
}

func TestCSV(t *testing.T) {
	got, err := CSV([]File{
		{"data/unikraft-vhost-user.csv", []byte("packetsize\trx\n64\t14.19142\n1500\t0.818558\n")},
		{"linux-dpdk-vhost-net", []byte("\ufeffpacketsize\trx\r\n128\t1.579300\r\n\r\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	type point struct {
		System plan.System
		Size   int
		Pps    float64
		Boot   int
	}
	var points []point
	for _, x := range got.Trials {
		points = append(points, point{x.System, x.Size, x.RxPps, x.Boot})
		if len(x.Warnings()) != 4 {
			t.Errorf("%v: %q", x.Trial, x.Warnings())
		}
	}
	want := []point{{ukUser, 64, 14_191_420, 1}, {ukUser, 1500, 818_558, 1}, {lxNet, 128, 1_579_300, 2}}
	if d := cmp.Diff(want, points); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{64, 128, 1500}, got.Run.Plan.Sizes); d != "" {
		t.Error(d)
	}
}

// All that is wrong is said at once, with its line.
func TestCSVRefused(t *testing.T) {
	_, err := CSV([]File{
		{"table.csv", []byte("packetsize\trx\n64\t1\n")},
		{"a-vhost-net.csv", []byte("size,rx\n64,1\n")},
		{"b-vhost-net.csv", []byte("packetsize\trx\n64\t14204107\n64\t2\n64\t3\nx\t1\n70000\t1\n128\t-1\n128\tNaN\n256\t1\t2\n")},
		{"c-vhost-net.csv", []byte("packetsize\trx\n")},
		{"c-vhost-net.tsv", nil},
	})
	if err == nil {
		t.Fatal("taken")
	}
	want := []string{
		`table.csv: the file's name says the system`,
		`a-vhost-net.csv:1: the header is "size,rx"`,
		`a-vhost-net.csv:2: "64,1" is not a size, a tab and a rate`,
		`b-vhost-net.csv:2: 14204107 Mpps is more than any port carries`,
		`b-vhost-net.csv:4: size 64 is there twice, in line 3 too`,
		`b-vhost-net.csv:5: "x" is no size`,
		`b-vhost-net.csv:6: "70000" is no size`,
		`b-vhost-net.csv:7: "-1" is no rate`,
		`b-vhost-net.csv:8: "NaN" is no rate`,
		`b-vhost-net.csv:9: "256\t1\t2" is not a size`,
		`c-vhost-net.csv: it holds no point`,
		`c-vhost-net.csv and c-vhost-net.tsv are both of c/vhost-net`,
		`c-vhost-net.tsv: it holds no point`,
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%v", len(lines), len(want), err)
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("%q; want %q...", lines[i], w)
		}
	}
}

func TestParseSystem(t *testing.T) {
	if s, err := ParseSystem("trex-2.9/sr-iov"); err != nil || s != (plan.System{Guest: "trex-2.9", Attachment: "sr-iov"}) {
		t.Errorf("%v, %v", s, err)
	}
	for _, bad := range []string{"", "linux", "a/b/c", "a/", "/b", "a b/c", "../x/y", "-a/b"} {
		if s, err := ParseSystem(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, s)
		}
	}
}
