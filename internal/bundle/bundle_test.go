package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweep/internal/agent"
	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/replay"
	"sweep/internal/results"
	"sweep/internal/sample"
	"sweep/internal/tape"
)

// planted are names that a run's files may hold; none may be in an archive.
var planted = []string{
	"aurora7", "AURORA7", "lab.example.org", "annalena", "Anna Lena Q", "/srv/people/al", "geheim",
	"berta", "3c:fd:fe:9e:5b:60", "3C-FD-FE-9E-5B-60", "enx3cfdfe9e5b61", "10.20.30.40", "fe80::3efd:feff:fe9e:5b60", "2a01:4f8:1:2:3:4:5:6",
}

func names() Names {
	return Names{
		Hosts: []string{"aurora7.lab.example.org", "aurora7", "lab.example.org"},
		Users: []string{"annalena", "Anna Lena Q", "root", "sent"},
		Homes: []string{"/srv/people/al", "/root", "/home/annalena"},
		Words: []string{"geheim"},
	}
}

// console is a console's bytes with everything in them, and some that must
// stay: the kit's own MAC address, versions, addresses that tell nobody.
const console = "aurora7 login: annalena\r\n\x1b[0Kaurora7:/home/annalena$ ls /home/berta/x\r\n" +
	"Port 1: 3c:fd:fe:9e:5b:60 and 3C-FD-FE-9E-5B-60, enx3cfdfe9e5b61, my-aurora7-nic, xaurora7x\r\n" +
	"AURORA7.lab.example.org (10.20.30.40): addr:fe80::3efd:feff:fe9e:5b60. and 2a01:4f8:1:2:3:4:5:6:\r\n" +
	"by Anna Lena Q in /srv/people/al/sweep; geheim\r\n\xff\x00" + staying

const staying = "Port 0: 02:00:00:00:00:01 56:48:4F:53:54:00 00:00:00:00:00:00 127.0.0.1 0.0.0.0 ::1 22.11.11 root 0000:18:00.0 12:34:56 RX-packets: 99872 1:7.2+dfsg\r\n"

// folder makes a run's folder with the names in every file.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run-aurora7")
	run := results.Run{
		Kit: "test", Command: []string{"sweep", "--results", "/home/annalena/run"}, Started: time.Date(2026, 12, 1, 10, 0, 0, 7, time.UTC),
		Plan:    plan.Plan{Sizes: []int{64}, Trials: 1, Systems: []plan.System{{Guest: "bare", Attachment: "vhost-user"}}},
		Machine: results.Machine{Cmdline: "ip=10.20.30.40 host=aurora7"},
	}
	f, err := results.Create(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Command("boot 1", "env HOME=/home/annalena qemu -name aurora7"); err != nil {
		t.Fatal(err)
	}
	w, err := f.Console("001-aurora7-client")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, console); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(results.Trial{
		Trial: plan.Trial{System: run.Plan.Systems[0], Boot: 1, Round: 1, Size: 64}, RxPps: 1_234_567.8,
		Console: []string{console}, Ledger: &audit.Ledger{GuestSent: 3},
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// filesOf are the files in a folder.
func filesOf(t *testing.T, dir string) []file {
	t.Helper()
	files, err := readFolder(dir)
	if err != nil || len(files) < 5 { // run.json, trials.jsonl, a CSV, commands.sh, a console
		t.Fatal(len(files), err)
	}
	return files
}

func make1(t *testing.T, dir string) (string, Made) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "run.tar.gz")
	made, err := Make(dir, to, names())
	if err != nil {
		t.Fatal(err)
	}
	return to, made
}

func open(t *testing.T, archive string) string {
	t.Helper()
	dir, done, err := Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestNoNameIsLeft(t *testing.T) {
	dir := folder(t)
	archive, made := make1(t, dir)
	got := open(t, archive)
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(unzipped) // with the tar's own headers
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range planted {
		if i := strings.Index(strings.ToLower(string(all)), strings.ToLower(name)); i >= 0 {
			t.Errorf("%q is still there: ...%q...", name, all[max(0, i-40):i+40])
		}
	}
	was, err := os.ReadFile(filepath.Join(dir, "console", "001-aurora7-client.log"))
	if err != nil {
		t.Fatal(err)
	}
	logs, err := filepath.Glob(filepath.Join(got, "console", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	is, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	// Offsets into a console's bytes stay what they are.
	if len(is) != len(was) || bytes.IndexByte(is, 0xff) != bytes.IndexByte(was, 0xff) || !bytes.HasSuffix(is, []byte(staying)) {
		t.Errorf("%d bytes, of %d:\n%q", len(is), len(was), is)
	}
	if b, err := os.ReadFile(filepath.Join(got, "run.json")); err != nil || !bytes.Contains(b, []byte(`"kit": "test"`)) {
		t.Errorf("%s, %v", b, err)
	}
	_, trials, problems, err := results.Load(got)
	if err != nil || len(problems) > 0 || len(trials) != 1 || trials[0].RxPps != 1_234_567.8 {
		t.Errorf("%+v, %v, %v", trials, problems, err)
	}
	if want := len(filesOf(t, dir)); made.Files != want || made.Trials != 1 {
		t.Errorf("%d files, %d trials; want %d, 1", made.Files, made.Trials, want)
	}
	// What was replaced is said, by what, and each by one of its own.
	with := map[string]string{}
	for _, r := range made.Replaced {
		if other, ok := with[r.With]; ok {
			t.Errorf("%s and %s are both %s", other, r.Was, r.With)
		}
		with[r.With] = r.Was
		if r.Times < 1 {
			t.Errorf("%+v", r)
		}
	}
	var left []string
	for _, l := range made.Left {
		left = append(left, l.Was)
	}
	if d := cmp.Diff([]string{"root", "sent"}, left); d != "" { // guest_sent is a key
		t.Error(d)
	}
}

// A home folder, a MAC address and a host are replaced by what still reads as
// one, and the same one everywhere.
func TestPlaceholders(t *testing.T) {
	r, err := newReplacer(names(), []file{{"console/x.log", []byte(console)}})
	if err != nil {
		t.Fatal(err)
	}
	got := string(r.apply([]byte(console)))
	want := "host2xx login: user1xxx\r\n\x1b[0Khost2xx:/home/user1xxx$ ls /home/user4/x\r\n" +
		"Port 1: 02:bb:00:00:00:01 and 02-bb-00-00-00-01, enx02bb00000002, my-host2xx-nic, xhost2xxx\r\n" +
		"host1xxxxxxxxxxxxxxxxxx (ip-3xxxxxxx): addr:ip-1xxxxxxxxxxxxxxxxxxxxx. and ip-2xxxxxxxxxxxxxxxx:\r\n" +
		"by user2xxxxxx in /home1xxxxxxxx/sweep; word1x\r\n\xff\x00" + staying
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A word that only looks like a name within another stays; in JSON the n of a
// line feed is no letter of the word behind it.
func TestBoundaries(t *testing.T) {
	r, err := newReplacer(Names{Hosts: []string{"ada"}, Users: []string{"received", "river", "packets"}}, []file{{"trials.jsonl", []byte(`{"server_received":7,"driver":""}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"Canada":                       "Canada",
		"ada.example":                  "h1x.example",
		`"x\nada\u001bada\u001b[Kada"`: `"x\nh1x\u001bh1x\u001b[Kh1x"`,
		`{"driver":"by river"}`:        `{"driver":"by user1"}`,
		"RX-packets: 7":                "RX-packets: 7",
		`{"server_received":1}`:        `{"server_received":1}`,
	} {
		if got := string(r.apply([]byte(in))); got != want {
			t.Errorf("%q became %q; want %q", in, got, want)
		}
	}
}

// taped makes a run's folder of one trial with its tape: 100 000 packets a
// second for two seconds, and a failure in somebody's words.
func taped(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run")
	f, err := results.Create(path, results.Run{Kit: "test", Plan: plan.Plan{Trials: 1, Duration: 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trial := plan.Trial{System: plan.System{Guest: "bare", Attachment: "vhost-user"}, Boot: 1, Round: 1, Size: 64}
	rec := tape.Tape{
		Trial: trial, Duration: 2 * time.Second, Driver: "net_memif", Foreign: []string{"aurora7 ran"},
		Counted: &tape.Counted{Sent: 201_000, Forward: tape.Forward{Received: 201_000, Sent: 201_000}},
	}
	lines := []tape.Line{{Begin: true}}
	for _, l := range []struct {
		phase tape.Phase
		ms    int64
		n     uint64
	}{{tape.Idle, 0, 0}, {tape.WarmUp, 500, 500}, {tape.Window, 1000, 1000}, {tape.Window, 2000, 101_000}, {tape.Window, 3000, 201_000}, {tape.Still, 3100, 201_000}} {
		at := agent.Time(l.ms * 1e6)
		p := sample.Port{Before: at, After: at + 1000, RxPackets: l.n, RxBytes: 64 * l.n}
		look := tape.Look{Phase: l.phase, Guest: p, Client: p, Wire: sample.Port{Before: at, After: at, TxPackets: l.n}}
		rec.Looks = append(rec.Looks, look)
		lines = append(lines, tape.Line{Look: &look})
	}
	whole := rec
	whole.Looks = nil
	for _, l := range append(lines, tape.Line{Whole: &whole}) {
		l.Boot, l.Size = 1, 64
		if err := f.Record(l); err != nil {
			t.Fatal(err)
		}
	}
	out := results.Trial{Started: time.Unix(0, 0).UTC()}
	out.Judge(&rec)
	if out.RxPps != 100_000 || out.Error != "" {
		t.Fatalf("the trial's rate is %v, %s", out.RxPps, out.Error)
	}
	if err := f.Append(out); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever a machine or its user is called, the archive can be replayed as the
// folder can, or there is none.
func TestReplay(t *testing.T) {
	for _, name := range []string{"idle", "window", "Still", "warm-up", "arm-u", "memif", "net_memif", "vhost-user", "aurora7"} {
		to := filepath.Join(t.TempDir(), "a.tar.gz")
		made, err := Make(taped(t), to, Names{Hosts: []string{name}, Words: []string{name}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (len(made.Replaced) > 0) != (name == "aurora7") {
			t.Errorf("%s: %+v", name, made.Replaced)
		}
		got, err := replay.Run(open(t, to))
		if err != nil || got.Trials != 1 || len(got.Differences) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// What no list of words foresees is seen by the replay.
	dir := taped(t)
	to := filepath.Join(t.TempDir(), "a.tar.gz")
	_, err := Make(dir, to, Names{Words: []string{`"idle"`}})
	if err == nil || !strings.Contains(err.Error(), "the archive's replay differs in") || !strings.Contains(err.Error(), `word "\"idle\""; leave out the --replace`) {
		t.Errorf("with a phase replaced: %v", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("an archive is left of what was refused")
	}
	// What the folder's replay has found already is no reason.
	file := filepath.Join(dir, "trials.jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(b), `"guest_sent":201000`, `"guest_sent":201001`, 1) + "{\"why\":\"aurora7"
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(dir, to, Names{Hosts: []string{"aurora7"}}); err != nil {
		t.Errorf("of a folder that differs: %v", err)
	}
}

func TestSameBytesAgain(t *testing.T) {
	dir := folder(t)
	a, _ := make1(t, dir)
	if err := os.Chtimes(filepath.Join(dir, "run.json"), time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	b, _ := make1(t, dir)
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Error("two archives of a folder differ")
	}
}

// The manifest is what sha256sum reads.
func TestManifestBySha256sum(t *testing.T) {
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is of coreutils: ", err)
	}
	dir := folder(t)
	archive, _ := make1(t, dir)
	cmd := exec.Command(tool, "--strict", "-c", "MANIFEST")
	cmd.Dir = open(t, archive)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != len(filesOf(t, dir)) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRefusedToMake(t *testing.T) {
	dir := folder(t)
	there := filepath.Join(t.TempDir(), "there.tar.gz")
	if err := os.WriteFile(there, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(dir, there, names()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over a file: %v", err)
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "mine" {
		t.Errorf("the file is %q, %v", b, err)
	}
	to := filepath.Join(t.TempDir(), "a.tar.gz")
	if _, err := Make(t.TempDir(), to, names()); err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Errorf("of no run: %v", err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "console", "link.log")); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(dir, to, names()); err == nil || !strings.Contains(err.Error(), "link.log is no regular file") {
		t.Errorf("with a link: %v", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("an archive is left of what was refused")
	}
}

func TestOpenFolder(t *testing.T) {
	dir := folder(t)
	if got := open(t, dir); got != dir {
		t.Errorf("%s became %s", dir, got)
	}
	if _, _, err := Open(filepath.Join(dir, "nowhere")); !os.IsNotExist(err) {
		t.Errorf("nowhere: %v", err)
	}
}

// entry is of an archive that somebody made.
type entry struct {
	name string
	data string
	kind byte
	link string
}

func archive(t *testing.T, entries ...entry) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: 0o644}
		if e.kind == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.data))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == 0 {
			if _, err := io.WriteString(w, e.data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.tar.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func line(name, data string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(data)), name)
}

func TestBrokenArchives(t *testing.T) {
	good := entry{name: "r/a", data: "A"}
	listed := func(lines ...string) entry {
		return entry{name: "r/MANIFEST", data: "# a comment\n" + strings.Join(lines, "")}
	}
	if dir := open(t, archive(t, listed(line("a", "A")), good)); filepath.Base(dir) != "r" {
		t.Errorf("the good one is in %s", dir)
	}
	if dir := open(t, archive(t, entry{name: "r/", kind: tar.TypeDir}, good, listed(line("a", "A")))); dir == "" {
		t.Error("one with a folder of its own is refused")
	}
	whole, err := os.ReadFile(archive(t, listed(line("a", "A")), good))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.tar.gz")
	if err := os.WriteFile(cut, whole[:len(whole)-9], 0o644); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct{ path, want string }{
		"changed":             {archive(t, listed(line("a", "B")), good), `"a" is not what it was`},
		"missing":             {archive(t, listed(line("a", "A"), line("b", "B")), good), `"b" is missing`},
		"added":               {archive(t, listed(), good), `"a" is not in the MANIFEST`},
		"no manifest":         {archive(t, good), "it has no MANIFEST"},
		"a name that clears":  {archive(t, listed(line("a", "A"), line("b\x1b[2J", "B")), good), `"b\x1b[2J" is missing`},
		"a damaged manifest":  {archive(t, listed("zzz\n", line("a", "A")), good), "no sum and name"},
		"cut":                 {cut, "unexpected EOF"},
		"text":                {text, "neither a run's folder nor an archive"},
		"up and out":          {archive(t, listed(), entry{name: "r/../../x", data: "A"}), "leads elsewhere"},
		"absolute":            {archive(t, listed(), entry{name: "/etc/x", data: "A"}), "leads elsewhere"},
		"a dot within":        {archive(t, listed(), entry{name: "r/./a", data: "A"}), "leads elsewhere"},
		"a symbolic link":     {archive(t, listed(), entry{name: "r/l", kind: tar.TypeSymlink, link: "/etc"}), "a link or a device"},
		"a hard link":         {archive(t, listed(), entry{name: "r/l", kind: tar.TypeLink, link: "/etc/passwd"}), "a link or a device"},
		"a device":            {archive(t, listed(), entry{name: "r/d", kind: tar.TypeChar}), "a link or a device"},
		"twice":               {archive(t, listed(line("a", "A")), good, good), "there twice"},
		"two folders":         {archive(t, listed(), entry{name: "s/a", data: "A"}), "not in the one folder"},
		"no folder":           {archive(t, entry{name: "a", data: "A"}), "not in the one folder"},
		"a file for a folder": {archive(t, listed(), good, entry{name: "r/a/b", data: "A"}), "file exists"},
	} {
		before := temps(t)
		_, _, err := Open(tt.path)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", what, err, tt.want)
		}
		if after := temps(t); after != before {
			t.Errorf("%s: %d temporary folders are left", what, after-before)
		}
	}
}

// temps is how many folders there are of archives that were unpacked.
func temps(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "sweep-bundle-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
