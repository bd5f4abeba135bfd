package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/verdict"
)

// figure19 is the published figure's 24 points.
func figure19(t *testing.T) Shown {
	t.Helper()
	s, err := Open("testdata/figure19")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestGoldenSevenBoots(t *testing.T) {
	for _, format := range []string{"table", "markdown", "csv", "json", "benchfmt", "tsv", "svg"} {
		golden(t, "seven."+format, written(t, format, sevenBoots()))
	}
	for _, format := range []string{"table", "markdown", "csv"} {
		golden(t, "two."+format, written(t, format, sevenBoots(), figure19(t)))
	}
	// The page but for its style and script, which are files of their own.
	page := written(t, "html", sevenBoots())
	page = regexp.MustCompile(`(?s)(<style>).*?(</style>)`).ReplaceAllString(page, "$1…$2")
	page = regexp.MustCompile(`(?s)(<script>).*?(</script>)`).ReplaceAllString(page, "$1…$2")
	golden(t, "seven.html", page)
}

// The figure in the documents is what is drawn today: the drawing to the byte,
// the picture but for what another compiler rounds otherwise.
func TestFigure19IsCurrent(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	drawing, picture := written(t, "svg", figure19(t)), written(t, "png", figure19(t))
	if *update {
		if err := errors.Join(os.WriteFile(filepath.Join(docs, "figure19.svg"), []byte(drawing), 0o644),
			os.WriteFile(filepath.Join(docs, "figure19.png"), []byte(picture), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	const how = "go test ./internal/report -update, and look at it"
	if want, err := os.ReadFile(filepath.Join(docs, "figure19.svg")); err != nil || string(want) != drawing {
		t.Errorf("docs/figure19.svg is not what is drawn now (%v): %s", err, how)
	}
	kept, err := os.ReadFile(filepath.Join(docs, "figure19.png"))
	if err != nil {
		t.Fatal(err)
	}
	if n, of := unlike(t, kept, []byte(picture)); n > of/1000 {
		t.Errorf("docs/figure19.png: %d of %d pixels are not what is drawn now: %s", n, of, how)
	}
}

// unlike counts the pixels in which two pictures differ much.
func unlike(t *testing.T, a, b []byte) (n, of int) {
	t.Helper()
	p, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	q, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	size := p.Bounds()
	if of = size.Dx() * size.Dy(); size != q.Bounds() {
		return of, of
	}
	for y := range size.Dy() {
		for x := range size.Dx() {
			r, _, bl, _ := p.At(x, y).RGBA()
			s, _, cl, _ := q.At(x, y).RGBA()
			if max(r, s)-min(r, s) > 0x4000 || max(bl, cl)-min(bl, cl) > 0x4000 {
				n++
			}
		}
	}
	return n, of
}

// A terminal of 100 columns holds four systems with their intervals.
func TestTableIsNarrow(t *testing.T) {
	for line := range strings.Lines(written(t, "table", sevenBoots())) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); strings.ContainsAny(line, "│┌├└") && n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Only the verdicts say that a system is faster.
func TestOneBootHasNoVerdict(t *testing.T) {
	s := figure19(t)
	s.Verdict.Comparisons = []verdict.Comparison{{A: uk, B: lx, Size: 64, Outcome: verdict.NotCompared, Because: "one boot: no verdict"}}
	for _, format := range []string{"table", "markdown", "html"} {
		text := written(t, format, s)
		if !strings.Contains(text, "One boot: no verdict") || strings.Contains(text, "not compared") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}

// The columns are in the plan's order, whatever came first.
func TestSystemsAreInThePlansOrder(t *testing.T) {
	s := Shown{Run: results.Run{Plan: plan.Plan{Systems: []plan.System{ba, uk, lx}, Trials: 1}},
		Trials: []results.Trial{trial(lx, 64, 1, 1e6, 0, ""), trial(lk, 64, 1, 3e6, 0, ""), trial(uk, 64, 1, 2e6, 0, "")}}
	want := "size,rx_pps\nunikraft/vhost-user,2000000.000\nlinux-dpdk/vhost-user,1000000.000\nlinux-kernel/vhost-user,3000000.000\n"
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", s))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := "size,rx_pps\n"
	for _, r := range rows[1:] {
		got += r[0] + "," + r[2] + "\n"
	}
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, format := range []string{"table", "tsv", "benchfmt", "svg"} {
		text := strings.ReplaceAll(written(t, format, s), "guest=", "")
		u, l, k := strings.Index(text, "unikraft"), strings.Index(text, "linux-dpdk"), strings.Index(text, "linux-kernel")
		if u < 0 || u > l || l > k {
			t.Errorf("%s: %d %d %d", format, u, l, k)
		}
	}
}

func TestPlusMinus(t *testing.T) {
	for _, tt := range []struct {
		pps, low, high float64
		want           string
	}{
		{719_400, 712_100, 731_200, "0.719 ±0.012"},             // 0.0118, two digits for a 1
		{719_400, 712_100, 720_000, "0.719 ±0.008"},             // 0.0073: the farther end, up
		{14_191_420, 14_190_000, 14_192_000, "14.1914 ±0.0015"}, // 0.00142
		{14_191_420, 14_171_420, 14_200_000, "14.19 ±0.02"},     // just 0.02: not 0.03
		{818_558, 818_558, 818_558, "0.819 ±0"},
		{818_558, 818_557.9, 818_558.1, "0.8185580 ±0.0000001"}, // seven digits at most
		{500_000, 100_000, 900_000, "0.5 ±0.4"},
		{146e6, 120e6, 150e6, "146 ±26"},
	} {
		if got := plusMinus(tt.pps, stats.Interval{Low: tt.low, High: tt.high}); got != tt.want {
			t.Errorf("%v in [%v, %v]: %s; want %s", tt.pps, tt.low, tt.high, got, tt.want)
		}
	}
}

// Without an interval several boots are good for the digits on which they
// agree, not for those on which each agrees with itself.
func TestRateOfBootsThatDisagree(t *testing.T) {
	p := point{Point: results.Point{Trials: 2, RxPps: 1_234_567, RxError: 10}}
	if got := rate(p); got != "1.23457" {
		t.Errorf("unjudged: %s", got)
	}
	p.judged.Rates = []float64{1_200_000, 1_269_134}
	if got := rate(p); got != "1.23" {
		t.Errorf("of two boots: %s", got)
	}
}

func TestVerdictWords(t *testing.T) {
	at := func(size int, outcome verdict.Outcome, because string) verdict.Comparison {
		return verdict.Comparison{A: uk, B: lx, Size: size, Outcome: outcome, Because: because}
	}
	v := verdict.Verdict{Family: "Holm over 2", Comparisons: []verdict.Comparison{
		at(64, verdict.NotCompared, "A is limited by the wire: 99.1 % of line rate"),
		at(128, verdict.Undecided, "who knows"),
		at(256, verdict.NotCompared, "A is limited by the wire: 99.2 % of line rate"),
		at(512, verdict.Faster, "clear"),
		at(1024, verdict.NotCompared, "one boot: no verdict"),
	}}
	v.Comparisons[3].Ratio, v.Comparisons[3].Interval = 12.3456, &stats.Interval{Low: 0.04521, High: 150}
	want := []string{
		"Verdicts:",
		"  unikraft/vhost-user is faster than linux-dpdk/vhost-user at 512 B (12.35 times, 0.0452 to 150.0)",
		"  unikraft/vhost-user and linux-dpdk/vhost-user: undecided at 128 B",
		"  not compared, because A is limited by the wire: unikraft/vhost-user with linux-dpdk/vhost-user at 64, 256 B",
		"  not compared, because one boot: no verdict: unikraft/vhost-user with linux-dpdk/vhost-user at 1024 B",
		"  corrected: Holm over 2",
	}
	if got := Verdicts(v); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := Verdicts(verdict.Verdict{}); got != nil {
		t.Errorf("of nothing: %q", got)
	}
	v.Comparisons = v.Comparisons[:1]
	if got := Verdicts(v); got[0] != "No two systems were compared:" || len(got) != 2 {
		t.Errorf("of nothing compared: %q", got)
	}
}

func TestWrap(t *testing.T) {
	if got, want := wrap("  one two three four", 11), "  one two\n    three\n    four"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

// What the JSON holds for several runs, and that its names are those of the
// types that docs/report.md points to.
func TestJSONOfTwo(t *testing.T) {
	var got struct {
		Runs []struct {
			Run    string
			Points []struct {
				System   string
				RxPps    *float64 `json:"rx_pps"`
				Interval *struct{ Low, High, Confidence float64 }
				Limited  string `json:"limited_by"`
				Unsteady int
				Boots    []float64
			}
			Verdicts []struct {
				A, B    string
				Size    int
				Outcome string
				Ratio   float64
			}
		}
	}
	d := json.NewDecoder(strings.NewReader(written(t, "json", sevenBoots(), figure19(t))))
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	p := got.Runs[0].Points[3] // unikraft at 512, one of whose boots was unsteady
	if got.Runs[0].Run != "full" || got.Runs[1].Run != "figure19" || len(got.Runs[0].Points) != 24 ||
		p.System != "unikraft/vhost-user" || *p.RxPps != 3725886.5 || p.Interval.Low != 3708511 || p.Interval.High != 3738298 ||
		p.Interval.Confidence != 0.95 || p.Limited != "guest" || p.Unsteady != 1 || len(p.Boots) != 6 {
		t.Errorf("%+v", p)
	}
	for _, v := range got.Runs[1].Verdicts {
		if v.Outcome != "not compared" {
			t.Errorf("of one boot: %+v", v)
		}
	}
	if v := got.Runs[0].Verdicts[0]; v.A != "linux-dpdk/vhost-user" || v.B != "unikraft/vhost-user" || v.Size != 64 || v.Outcome != "faster" || v.Ratio != 1.214 {
		t.Errorf("%+v", v)
	}
}

// The library that benchstat is made of reads each boot, with its names, its
// units and the run's configuration.
func TestBenchfmt(t *testing.T) {
	r := benchfmt.NewReader(strings.NewReader(written(t, "benchfmt", sevenBoots())), "seven")
	var units, failed, n int
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("%v", rec)
		case *benchfmt.UnitMetadata:
			units++
		case *benchfmt.Result:
			n++
			if n > 1 {
				continue
			}
			pps, _ := rec.Value("packets/s")
			bytes, _ := rec.Value("B/s")
			name, parts := rec.Name.Parts()
			if string(name) != "Transmit" || len(parts) != 3 || string(parts[0]) != "/guest=unikraft" || string(parts[1]) != "/attachment=vhost-user" ||
				string(parts[2]) != "/size=64" || rec.Iters != 1 || pps != 4133858 || math.Abs(bytes-4133858*64) > 1000 {
				t.Errorf("%s: %v packets/s, %v B/s", rec.Name, pps, bytes)
			}
			for key, want := range map[string]string{"kit": "v1.2.3", "cpu": "AMD EPYC 9354P 32-Core Processor", "kernel": "6.1.0-30-amd64",
				"qemu": "QEMU emulator version 7.2.22", "dpdk": "DPDK 22.11.11", "wire": "memif", "accel": "kvm", "run": ""} {
				if got := rec.GetConfig(key); got != want {
					t.Errorf("%s: %q; want %q", key, got, want)
				}
			}
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	failed = strings.Count(written(t, "benchfmt", sevenBoots()), "\n# failed in boot")
	if n != 166 || failed != 2 || units != 2 { // 7 boots of 4 systems at 6 sizes, less the two that failed
		t.Errorf("%d lines, %d failed, %d units", n, failed, units)
	}
	if got, want := benchName("a b/c=\td-µ"), "a_b_c__d-_"; got != want {
		t.Errorf("benchName: %q; want %q", got, want)
	}
}

// benchstat itself: guests as columns, runs as columns, two files.
func TestBenchstat(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, runs ...Shown) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(written(t, "benchfmt", runs...)), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	benchstat := func(args ...string) string {
		out, err := exec.Command("go", append([]string{"tool", "benchstat"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("benchstat %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	slower := sevenBoots()
	slower.Name = "slower"
	for i := range slower.Trials {
		slower.Trials[i].RxPps /= 2
	}
	whole, half := file("whole", sevenBoots()), file("half", slower)

	out := benchstat("-col", "/guest", "-filter", ".unit:packets/s /size:64", whole)
	// 5.1 over 4.2, and 7 boots of each all above the other: 2 in 3432.
	if !regexp.MustCompile(`unikraft +│ +linux-dpdk`).MatchString(out) || !regexp.MustCompile(`\+21\.4\d% \(p=0\.001 n=7\)`).MatchString(out) {
		t.Errorf("guests as columns:\n%s", out)
	}
	for name, args := range map[string][]string{
		"two files":       {whole, half},
		"runs as columns": {"-col", "run", file("both", sevenBoots(), slower)},
	} {
		out = benchstat(append([]string{"-filter", ".unit:packets/s /guest:unikraft"}, args...)...)
		if strings.Count(out, "-50.00% (p=0.001 n=7)") != 5 || !strings.Contains(out, "n=6") {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

// published.awk holds a file to the published format, in its terms.
const publishedAWK = `
BEGIN { FS = "\t" }
NR == 1 { if ($0 != "packetsize\trx") bad = "header"; next }
NF != 2 || $1 !~ /^[0-9]+$/ || $2 !~ /^[0-9]+\.[0-9]+$/ { bad = "row " NR }
$2 <= 0 || $2 > 14.2046 { bad = "no Mpps in row " NR }
{ seen = seen " " $1 }
END { if (bad == "" && seen != " 64 128 256 512 1024 1500") bad = "rows" seen; if (bad != "") { print bad; exit 1 } }
`

// A script that knows nothing but the published format reads what is written
// for the artifact's own plotting: header, tab, six rows, Mpps, the four names.
func TestPublishedFormat(t *testing.T) {
	dir := t.TempDir()
	s := figure19(t)
	// A guest of somebody's own stands beside the four.
	s.Trials = append(s.Trials, trial(plan.System{Guest: "mine", Attachment: "vhost-user"}, 64, 1, 1e6, 0, ""))
	files, err := WriteTSVFiles(dir, s)
	if err != nil || len(files) != 5 {
		t.Fatalf("%q, %v", files, err)
	}
	read := func(path string) error {
		if out, err := exec.Command("awk", publishedAWK, path).CombinedOutput(); err != nil {
			return errors.New(string(out))
		}
		return nil
	}
	for _, name := range []string{"unikraft-vhost-user", "linux-dpdk-vhost-user", "unikraft-vhost-net", "linux-dpdk-vhost-net"} {
		path := filepath.Join(dir, name+".csv")
		if err := read(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The script is no yes-man.
	for _, broken := range []string{"packetsize rx\n", "packetsize\trx\n64\t14191420\n", "packetsize\trx\n64\t1.0\n", "packetsize\trx\n64,1.0\n"} {
		path := filepath.Join(dir, "broken")
		if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
			t.Fatal(err)
		}
		if read(path) == nil {
			t.Errorf("%q passes", broken)
		}
	}
	table := written(t, "tsv", s)
	first, _, _ := strings.Cut(table, "\n")
	if first != "packetsize\tunikraft-vhost-user\tlinux-dpdk-vhost-user\tunikraft-vhost-net\tlinux-dpdk-vhost-net\tmine-vhost-user" {
		t.Errorf("header %q", first)
	}
	if !strings.Contains(table, "\n64\t14.191420\t14.155830\t1.658948\t1.651603\t1.000000\n128\t") || !strings.Contains(table, "\t1.579300\tnan\n") {
		t.Errorf("%s", table)
	}
}

// The published systems come first, and a name that would leave the folder is
// refused.
func TestTSVNames(t *testing.T) {
	for _, name := range []plan.System{{Guest: "..", Attachment: "../x"}, {Guest: "a b", Attachment: "c"}, {Guest: "", Attachment: ""}} {
		s := Shown{Trials: []results.Trial{trial(name, 64, 1, 1e6, 0, "")}}
		if files, err := WriteTSVFiles(t.TempDir(), s); err == nil || len(files) > 0 {
			t.Errorf("%v: wrote %q", name, files)
		}
	}
	twice := Shown{Trials: []results.Trial{trial(plan.System{Guest: "a-b", Attachment: "c"}, 64, 1, 1e6, 0, ""), trial(plan.System{Guest: "a", Attachment: "b-c"}, 64, 1, 1e6, 0, "")}}
	if err := Write(io.Discard, "tsv", []Shown{twice}); err == nil || !strings.Contains(err.Error(), "share the name a-b-c") {
		t.Errorf("%v", err)
	}
	mixed := Shown{Trials: []results.Trial{trial(ba, 64, 1, 1e6, 0, ""), trial(plan.System{Guest: "linux-dpdk", Attachment: "vhost-net"}, 64, 1, 1e6, 0, ""), trial(uk, 64, 1, 1e6, 0, "")}}
	if got := written(t, "tsv", mixed); !strings.HasPrefix(got, "packetsize\tunikraft-vhost-user\tlinux-dpdk-vhost-net\tbare-vhost-user\n") {
		t.Errorf("%s", got)
	}
}

// What the figure of the published points holds, worked out by hand.
func TestFigure(t *testing.T) {
	f, err := newFigure([]Shown{figure19(t)})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.sizes, []int{64, 128, 256, 512, 1024, 1500}) || !slices.Equal(f.ticks, []float64{0.5, 1, 2, 5, 10, 20}) || len(f.series) != 4 {
		t.Fatalf("sizes %v, ticks %v, %d series", f.sizes, f.ticks, len(f.series))
	}
	fills := map[fill]int{}
	at := map[float64]bool{}
	for _, s := range f.series {
		for _, m := range s.marks {
			fills[m.fill]++
			if at[m.x()] {
				t.Errorf("two marks at %v", m.x())
			}
			at[m.x()] = true
		}
	}
	// Sixteen are at line rate; of the others nobody knows, for bare wasn't there.
	if fills[hollow] != 16 || fills[dotted] != 8 || fills[full] != 0 {
		t.Errorf("fills %v", fills)
	}
	if len(f.lineRates) != 1 || f.lineRates[0].name != "line rate, 10 Gb/s" || math.Abs(f.lineRates[0].mpps[0]-14.204545) > 1e-6 {
		t.Errorf("line rates %+v", f.lineRates)
	}
	// On an axis from 0.5 to 20, the square root of 10 is in the middle.
	if h := f.height(math.Sqrt(10)); math.Abs(h-0.5) > 1e-9 {
		t.Errorf("height %v", h)
	}
	if f.height(0.001) != 0 || f.height(1000) != 1 {
		t.Error("what is off the axis is not at its end")
	}
	if _, err := newFigure([]Shown{{Trials: []results.Trial{trial(uk, 64, 1, 0, 0, "why")}}}); err == nil {
		t.Error("a figure of nothing")
	}
}

// The ticks of what is close together are close, and none is 0.30000000000000004.
func TestTicks(t *testing.T) {
	f := figure{series: []series{{marks: []mark{{mpps: 0.26}, {mpps: 0.44}}}}}
	f.scale()
	if want := []float64{0.2, 0.25, 0.3, 0.4, 0.5}; !slices.Equal(f.ticks, want) {
		t.Errorf("%v; want %v", f.ticks, want)
	}
}

// Shapes differ pairwise, and there is a colour for each.
func TestGlyphsAndColours(t *testing.T) {
	shapes, colours := glyphs(), palette()
	if len(shapes) != len(colours) {
		t.Errorf("%d shapes, %d colours", len(shapes), len(colours))
	}
	for i := range shapes {
		for j := range i {
			if reflect.DeepEqual(shapes[i], shapes[j]) || colours[i] == colours[j] {
				t.Errorf("%d and %d are alike", i, j)
			}
		}
	}
}

// The picture is twice 800 pixels wide, and what is limited is hollow in it.
func TestPNG(t *testing.T) {
	img, err := png.Decode(strings.NewReader(written(t, "png", sevenBoots())))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 1600 || b.Dy() < 1000 || b.Dy() > 1400 {
		t.Errorf("%v", b)
	}
	seen := map[color.NRGBA]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			seen[color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)]++
		}
	}
	for i, c := range palette()[:4] {
		if seen[c] < 100 {
			t.Errorf("colour %d of the four systems: %d pixels", i, seen[c])
		}
	}
}

// hostile is a run whose every text is out to do harm.
func hostile() Shown {
	const evil = "<script>alert(1)</script>\x1b[31m\u202e\"'><img src=x onerror=alert(1)>{{.}}|`\\<b>"
	guest := plan.System{Guest: "<script>alert(2)</script>|\x1b[2J", Attachment: "a\"b/../../c"}
	bad := trial(guest, 128, 1, 0, 0, evil)
	bad.Console = []string{evil, "</pre></script>"}
	bad.Findings = []audit.Finding{{Kind: audit.Kind(evil), Text: evil}}
	return Shown{
		Name: evil, Commands: evil + "</script>", Problems: []string{evil},
		Run: results.Run{
			Kit: evil, Command: []string{evil}, Accel: evil, AccelWhy: evil, Warnings: []string{evil},
			Machine: results.Machine{CPU: evil, Cmdline: evil}, Skipped: []results.Skipped{{System: guest, Why: evil}},
			Images: map[string]results.Image{evil: {Kernel: evil}}, Plan: plan.Plan{Trials: 2, Wire: evil},
		},
		Trials: []results.Trial{trial(guest, 64, 1, 1e6, 0, "", evil), bad, trial(uk, 64, 2, 1e6, 0, "")},
		Verdict: verdict.Verdict{
			Family:      evil,
			Points:      []verdict.Point{{System: guest, Size: 64, Rates: []float64{1e6}, Median: 1e6, LimitedBy: verdict.Limiter(evil), Because: evil, NoInterval: evil}},
			Comparisons: []verdict.Comparison{{A: guest, B: uk, Size: 64, Outcome: verdict.Faster, Because: evil}, {A: guest, B: uk, Size: 64, Outcome: verdict.NotCompared, Because: evil}},
		},
	}
}

// Names and consoles are anybody's: no format lets them be more than text.
func TestHostileText(t *testing.T) {
	s := hostile()
	for _, format := range []string{"table", "markdown", "svg", "html", "benchfmt"} {
		text := written(t, format, s)
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s has control characters", format)
		}
	}
	page := written(t, "html", s)
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts in the page", n)
	}
	if strings.Contains(page, "<img") || strings.Contains(page, "ZgotmplZ") {
		t.Error("the page has markup that is not its own")
	}
	if text := strings.NewReplacer(`\\`, "", `\<`, "").Replace(written(t, "markdown", s)); strings.Contains(text, "<") {
		t.Errorf("markdown has a tag:\n%s", text)
	}
	for _, line := range strings.Split(written(t, "markdown", s), "\n")[:2] {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 4 {
			t.Errorf("%d bars in %q", n, line)
		}
	}
	if _, err := WriteTSVFiles(t.TempDir(), s); err == nil {
		t.Error("tsv took the names")
	}
	d := xml.NewDecoder(strings.NewReader(written(t, "svg", s)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("svg: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "img") {
			t.Errorf("svg has a <%s>", e.Name.Local)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", s))).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Errorf("csv: %d rows, %v", len(rows), err)
	}
	if !json.Valid([]byte(written(t, "json", s))) {
		t.Error("json is none")
	}
}

// A page that was made of nothing is a page, and a figure of nothing an error
// that writes nothing.
func TestNothing(t *testing.T) {
	if page := written(t, "html", Shown{Name: "empty"}); !strings.Contains(page, "there is nothing to draw") || !strings.Contains(page, "No trial has ended") {
		t.Errorf("%s", page)
	}
	for _, format := range []string{"svg", "png"} {
		var b bytes.Buffer
		if err := Write(&b, format, []Shown{{}}); err == nil || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", format, err, b.Len())
		}
	}
}

func TestFields(t *testing.T) {
	got := fields(map[string]any{"a_b": 1, "c": []string{"x", "y"}, "d": map[string]any{"e": "z", "f": 0, "g": ""}, "h": nil, "i": []any{}})
	want := []pair{{"a b", "1"}, {"c", "x, y"}, {"d e", "z"}}
	if !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestGrouped(t *testing.T) {
	for in, want := range map[string]string{"0": "0", "999": "999", "1000": "1 000", "-14191420": "−14 191 420"} {
		if got := grouped(in); got != strings.ReplaceAll(want, " ", "\u202f") {
			t.Errorf("%s: %q", in, got)
		}
	}
}
