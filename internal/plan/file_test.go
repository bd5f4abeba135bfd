package plan

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFile(t *testing.T) {
	got, errs := read(strings.NewReader(`
# A comment.
sizes: [64, 256-1500:256, "1514"]
systems: bare/vhost-user, mine/vhost-user
full: True
precision: 0.5%
max_trials: 40
duration: 1m30s
seed: 18446744073709551615
unikraft_image: images/uk
guests:
  - name: mine
    kernel: vmlinux
    initrd: /boot/initrd
    append: console=ttyS0 a=1,2
  - {name: other, kernel: ../other}
note: |
  The second try,
  after the BIOS update.
`), "plans/plan.yaml")
	if errs != nil {
		t.Fatal(errs)
	}
	want := File{
		Parts: []Part{
			{"sizes", "64,256-1500:256,1514", "plans/plan.yaml:3"},
			{"systems", "bare/vhost-user, mine/vhost-user", "plans/plan.yaml:4"},
			{"full", "true", "plans/plan.yaml:5"},
			{"precision", "0.5%", "plans/plan.yaml:6"},
			{"max_trials", "40", "plans/plan.yaml:7"},
			{"duration", "1m30s", "plans/plan.yaml:8"},
			{"seed", "18446744073709551615", "plans/plan.yaml:9"},
			{"unikraft_image", "plans/images/uk", "plans/plan.yaml:10"},
		},
		Guests: []Guest{
			{"mine", "plans/vmlinux", "/boot/initrd", "console=ttyS0 a=1,2", "plans/plan.yaml:12"},
			{"other", "other", "", "", "plans/plan.yaml:16"},
		},
		Note: "The second try,\nafter the BIOS update.\n",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

const allKeys = "sizes, systems, guests, trials, full, precision, max_trials, duration, wire, seed, kernel_sender, memory, unikraft_image, note"

// What is wrong is said with its line, all of it, in the order of the lines.
func TestReadFileRefuses(t *testing.T) {
	const noInt = "; it takes a whole number"
	for _, tt := range []struct {
		yaml string
		want []string
	}{
		{"wire: memif\nsizes: 64\ntrials: 3\nfull: false\nnote: x\nseed: 1\ndurration: 5s\n", []string{
			`p.yaml:7: unknown key "durration"; did you mean duration?`}},
		{"Max-Trials: 3\nguest: x\ncolour: 1\n", []string{
			`p.yaml:1: unknown key "Max-Trials"; did you mean max_trials?`,
			`p.yaml:2: unknown key "guest"; did you mean guests?`,
			`p.yaml:3: unknown key "colour"; there are ` + allKeys}},
		{"trials: three\nmax_trials: 3.5\nmemory: \"256\"\nseed: -1\n", []string{
			`p.yaml:1: trials: the text "three"` + noInt,
			`p.yaml:2: max_trials: 3.5` + noInt,
			`p.yaml:3: memory: the text "256"` + noInt,
			`p.yaml:4: seed: -1` + noInt}},
		// Numbers to YAML, and read in more than one way elsewhere.
		{"trials: 0x10\nmemory: 010\nseed: 1_000\n", []string{
			`p.yaml:1: trials: 0x10` + noInt, `p.yaml:2: memory: 010` + noInt, `p.yaml:3: seed: 1_000` + noInt}},
		{"full: yes\nduration: 5\nprecision: 1\nwire: [memif]\nsizes:\n", []string{
			`p.yaml:1: full: the text "yes"; it takes true or false`,
			`p.yaml:2: duration: 5; it takes a time with its unit, such as 5s or 1m30s`,
			`p.yaml:3: precision: 1 is 100% of the rate: write 1%, if that is what is meant`,
			`p.yaml:4: wire: a list; it takes text`,
			`p.yaml:5: sizes: no value; it takes a list, or what the flag takes`}},
		{"trials: 3\nseed: 1\ntrials: 4\ntrials: 5\n", []string{
			"p.yaml:3: trials is there twice; the first is on line 1",
			"p.yaml:4: trials is there twice; the first is on line 1"}},
		{"sizes: [64, [128], , 256]\nsystems: []\n", []string{
			"p.yaml: no YAML: did not find expected node content"}},
		{"sizes: [64, [128], ~, {a: b}]\nsystems: []\n", []string{
			"p.yaml:1: sizes: a list in the list", "p.yaml:1: sizes: no value in the list", "p.yaml:1: sizes: keys with values in the list",
			"p.yaml:2: systems: the list is empty; leave it out for the default"}},
		{"guests:\n  - name: a\n  - kernel: k\n  - name: b\n    kernle: k\n  - c\n  - name: d\n    kernel: k\n    name: e\n", []string{
			"p.yaml:2: a guest needs a name and a kernel",
			"p.yaml:3: a guest needs a name and a kernel",
			`p.yaml:5: unknown key "kernle"; did you mean kernel?`,
			`p.yaml:6: a guest: the text "c"; it takes keys with values: name, kernel, initrd, append`,
			"p.yaml:9: name is there twice; the first is on line 7"}},
		{"guests: mine\n", []string{`p.yaml:1: guests: the text "mine"; it takes a list, of a name and a kernel each`}},
		{"full: true\n---\nfull: true\n", []string{"p.yaml:2: a second document begins; a file holds one plan"}},
		{"memory: x\n---\n- [\n", []string{
			`p.yaml:1: memory: the text "x"` + noInt, "p.yaml:3: no YAML, here or on the line after: did not find expected node content"}},
		{"", []string{"p.yaml: the plan is empty; it can hold " + allKeys}},
		{"# nothing\n", []string{"p.yaml: the plan is empty; it can hold " + allKeys}},
		{"{}", []string{"p.yaml:1: the plan is empty; it can hold " + allKeys}},
		{"- sizes\n", []string{"p.yaml:1: the plan: a list; it takes keys with values: " + allKeys}},
		{"note: &n text\nwire: *n\n", []string{"p.yaml:2: wire: *n, an alias; it takes text"}},
		{"note: !!binary aGk=\ntrials: !!int 3\n", []string{
			"p.yaml:1: note: !!binary, a tag; it takes text", "p.yaml:2: trials: !!int, a tag" + noInt}},
		{"? [a]\n: b\n", []string{"p.yaml:1: a key is a word; there are " + allKeys}},
		{"sizes: 64\n\tfull: true\n", []string{"p.yaml:2: no YAML, here or on the line after: found a tab character that violates indentation (YAML indents with blanks, not tabs, and a value that begins with a sign stands in quotes)"}},
		{"note: a: b\n", []string{"p.yaml: no YAML: mapping values are not allowed in this context (a key is indented too far, or a value with a colon lacks its quotes)"}},
		{strings.Repeat("#", 1<<20) + "\n", []string{"p.yaml: more than 1024 KiB: a plan is a page of YAML"}},
	} {
		_, errs := read(strings.NewReader(tt.yaml), "p.yaml")
		var got []string
		for _, err := range errs {
			got = append(got, err.Error())
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%.200q (-want +got):\n%s", tt.yaml, d)
		}
	}
}

// What is right counts beside what is wrong.
func TestReadFileKeepsTheRest(t *testing.T) {
	got, errs := read(strings.NewReader("trials: x\nmemory: 300\n"), "p.yaml")
	if len(errs) != 1 || len(got.Parts) != 1 || got.Parts[0] != (Part{"memory", "300", "p.yaml:2"}) {
		t.Errorf("%+v, %v", got, errs)
	}
}

func TestReadFileNotThere(t *testing.T) {
	if _, errs := ReadFile(filepath.Join(t.TempDir(), "no.yaml")); len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
		t.Errorf("no file: %v", errs)
	}
	if _, errs := ReadFile(t.TempDir()); len(errs) != 1 {
		t.Errorf("a folder: %v", errs)
	}
	// A file that has no end.
	if _, errs := ReadFile("/dev/zero"); len(errs) != 1 || !strings.Contains(errs[0].Error(), "more than 1024 KiB") {
		t.Errorf("/dev/zero: %v", errs)
	}
}

// The example in docs/ shows every key there is, and is right; the page explains
// them.
func TestExample(t *testing.T) {
	const example = "../../docs/plan.example.yaml"
	f, errs := ReadFile(example)
	if errs != nil {
		t.Fatal(errs)
	}
	have := []string{"note"}
	for _, p := range f.Parts {
		have = append(have, p.Key)
	}
	if f.Note == "" || len(f.Guests) == 0 {
		t.Errorf("note %q, guests %v", f.Note, f.Guests)
	} else if g := f.Guests[0]; g.Name == "" || g.Kernel == "" || g.Initrd == "" || g.Append == "" {
		t.Errorf("a guest's keys are not all there: %+v", g)
	}
	b, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range Keys() {
		if !strings.Contains(string(page), "\n| `"+key+"` |") {
			t.Errorf("docs/plan.md doesn't explain %s", key)
		}
		// Of two that exclude each other, one stands in a comment.
		if !slices.Contains(have, key) && !strings.Contains(string(b), "\n"+key+":") && !strings.Contains(string(b), "\n# "+key+":") {
			t.Errorf("%s is not in it", key)
		}
	}
}

func TestSuggestion(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"sizes", "sizes", 0}, {"durration", "duration", 1}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d; want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("sizes: [64]\nguests:\n - {name: a, kernel: b}\n")
	f.Add("? &a [*a]\n: !!map {}\n--- x")
	f.Fuzz(func(t *testing.T, yaml string) {
		file, errs := read(strings.NewReader(yaml), "p.yaml")
		for _, p := range file.Parts {
			if !slices.Contains(Keys(), p.Key) || p.Value == "" || p.Where == "" {
				t.Errorf("%+v of %q", p, yaml)
			}
		}
		if len(errs) == 0 && len(file.Parts)+len(file.Guests) == 0 && file.Note == "" {
			t.Errorf("%q is a plan of nothing", yaml)
		}
	})
}
