//go:build real

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// elsewhere are the commands of the documents that this test must not run,
// and where they are run.
var elsewhere = map[string]string{
	"./test.sh":  "it runs this test",
	"./sweep":    "TestAllSystems, at two sizes for a second each; whole in ./test.sh fresh",
	"./clean.sh": "TestScripts, which owns the journal that it cleans",
}

// Every command that a document shows in a sh block does what it is shown to:
// it ends with exit code 0. They are run in order, document by document, where
// a user would run them: at the top of a checkout.
func TestDocuments(t *testing.T) {
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatal("no documents", err)
	}
	for _, doc := range append([]string{filepath.Join(top, "README.md")}, docs...) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		k := newKit(t)
		// A folder that looks like a checkout, so that what a run makes
		// stays out of the real one.
		entries, err := os.ReadDir(top)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "results" {
				if err := os.Symlink(filepath.Join(top, e.Name()), filepath.Join(k.dir, e.Name())); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, command := range shellBlocks(string(text)) {
			if why, ok := elsewhere[command]; ok {
				t.Logf("%s: %s: not here: %s", filepath.Base(doc), command, why)
				continue
			}
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir, cmd.Env = k.dir, k.env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %v\n%s", filepath.Base(doc), command, err, out)
			}
		}
		for _, link := range links(string(text)) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), link)); err != nil {
				t.Errorf("%s: a link to what isn't there: %v", filepath.Base(doc), err)
			}
		}
		k.nothingLeft()
	}
}

// shellBlocks are the lines of a document's sh blocks.
func shellBlocks(text string) []string {
	var out []string
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "```sh":
			in = true
		case line == "```":
			in = false
		case in && line != "":
			out = append(out, line)
		}
	}
	return out
}

// links are the files that a document links to.
func links(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// The scripts at the top: from any folder, through a link, with the exit code
// and the signals of the program.
func TestScripts(t *testing.T) {
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	k := newKit(t)
	link := filepath.Join(t.TempDir(), "link-to-sweep")
	if err := os.Symlink(filepath.Join(top, "sweep"), link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		argv []string
		code int
		want string // in what it prints
	}{
		{[]string{link, "--version"}, 0, "sweep version"},
		{[]string{link, "--sizes", "41"}, 2, "too short"},
		{[]string{link, "report", "nowhere"}, 2, "nowhere"},
		{[]string{filepath.Join(top, "clean.sh")}, 0, "Nothing to undo"},
		{[]string{filepath.Join(top, "clean.sh"), "--no-such-flag"}, 2, "no-such-flag"},
	} {
		cmd := exec.Command(tt.argv[0], tt.argv[1:]...)
		cmd.Dir, cmd.Env = k.dir, k.env
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) {
			t.Errorf("%v: exit code %d, want %d; it printed %s", tt.argv, code, tt.code, out)
		}
	}
	// A second preparation has nothing to do and next to nothing to say.
	cmd := exec.Command(filepath.Join(top, "prepare.sh"))
	cmd.Env = k.env
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") > 1 {
		t.Errorf("prepare.sh again: %v\n%s", err, out)
	}
	k.nothingLeft()
}
