// Package bundle packs a run's folder for a reviewer: one archive, in which
// nothing tells whose machine it was, and which says of each file what it must
// be. It unpacks such archives, which anybody may have made.
package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sweep/internal/replay"
	"sweep/internal/results"
)

// manifestName is the file that lists the others with their sums, as
// `sha256sum -c` reads them.
const manifestName = "MANIFEST"

// Limits of what is packed and unpacked: far above what a run makes, and below
// what fills a disk.
const (
	maxFiles = 100_000
	maxFile  = 1 << 30 // bytes
	maxTotal = 4 << 30
)

// file is one of a run's folder.
type file struct {
	name string // in the folder, with slashes
	data []byte
}

// Made is what an archive holds.
type Made struct {
	Files    int
	Trials   int
	Replaced []Replacement
	Left     []Left   // names that were not replaced
	Opaque   []string // files in which no name can be seen, for they are not text
}

// Make writes the archive of a run's folder to a new file. An archive that is
// there already is never overwritten. Of the same folder and names the same
// program makes the same bytes: the files are sorted, and of the run's time.
func Make(dir, to string, names Names) (made Made, err error) {
	run, trials, _, err := results.Load(dir)
	if err != nil {
		return made, err
	}
	files, err := readFolder(dir)
	if err != nil {
		return made, err
	}
	r, err := newReplacer(names, files)
	if err != nil {
		return made, err
	}
	for i, f := range files {
		if !isText(f.data) {
			made.Opaque = append(made.Opaque, f.name)
			continue
		}
		files[i] = file{string(r.apply([]byte(f.name))), r.apply(f.data)}
	}
	made.Files, made.Trials = len(files), len(trials)
	made.Replaced, made.Left = r.replaced(), r.left
	top := string(r.apply([]byte(topName(dir))))
	files = slices.Insert(files, 0, file{manifestName, manifest(files, made.Replaced)})

	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return made, fmt.Errorf("%s is there already and stays as it is: name another file with -o", to)
	}
	if err != nil {
		return made, err
	}
	defer func() {
		if err != nil {
			os.Remove(to)
		}
	}()
	err = write(out, top, files, run.Started)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return made, fmt.Errorf("write %s: %w", to, err)
	}
	return made, check(dir, to, trials, r)
}

// topName is the folder's own name, under which an archive unpacks.
func topName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if name := filepath.Base(dir); name != string(filepath.Separator) {
		return name
	}
	return "run"
}

// check reads the archive as a reviewer will: it must hold what the folder
// does, and its replay must find what the folder's does.
func check(dir, archive string, want []results.Trial, r *replacer) (err error) {
	unpacked, done, err := Open(archive)
	if err != nil {
		return fmt.Errorf("the archive can't be opened again: %w", err)
	}
	defer func() { err = errors.Join(err, done()) }()
	_, got, _, err := results.Load(unpacked)
	if err != nil {
		return fmt.Errorf("the archive can't be read again: %w", err)
	}
	same := func(a, b results.Trial) bool { return a.Trial == b.Trial && a.RxPps == b.RxPps }
	if !slices.EqualFunc(want, got, same) {
		return fmt.Errorf("the archive's trials are not the folder's: %s", r.needed())
	}
	before, err := replay.Run(dir)
	if err != nil {
		return nil // what was imported has no tape, here and there
	}
	after, err := replay.Run(unpacked)
	if err != nil {
		return fmt.Errorf("the archive can't be replayed, and the folder can (%w): %s", err, r.needed())
	}
	known := map[string]bool{}
	for _, d := range before.Differences {
		known[string(r.apply([]byte(within(dir, d))))] = true
	}
	var wrong []string
	for _, d := range after.Differences {
		if d = within(unpacked, d); !known[d] {
			wrong = append(wrong, d)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the archive's replay differs in %d things from the folder's (the first: %s): %s", len(wrong), wrong[0], r.needed())
	}
	return nil
}

// within is a sentence about a folder's files without the path to them.
func within(dir, sentence string) string {
	return strings.ReplaceAll(sentence, filepath.Clean(dir)+string(filepath.Separator), "")
}

// needed says what to do where the record can't be read without a name that was
// replaced.
func (r *replacer) needed() string {
	var names []string
	for _, l := range r.literals {
		if l.Times > 0 {
			names = append(names, fmt.Sprintf("%s %q", l.What, l.Was))
		}
	}
	return "the record needs a name that was replaced, one of " + strings.Join(names, ", ") +
		"; leave out the --replace that does it, or pack the folder on a machine and as a user of other names"
}

// readFolder reads all files of a folder, in order.
func readFolder(dir string) ([]file, error) {
	var files []file
	var wrong []error
	total := int64(0)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case !d.Type().IsRegular():
			wrong = append(wrong, fmt.Errorf("%s is no regular file (%s): put what it stands for in its place, or take it away", p, d.Type()))
			return nil
		case filepath.ToSlash(name) == manifestName:
			return nil // of an archive that was unpacked: there will be a new one
		}
		if total += info.Size(); info.Size() > maxFile || total > maxTotal || len(files) == maxFiles {
			return fmt.Errorf("%s holds more than %d GiB, or than %d files, or %s more than 1 GiB: this is no run's folder", dir, maxTotal>>30, maxFiles, p)
		}
		data, err := os.ReadFile(p)
		files = append(files, file{filepath.ToSlash(name), data})
		return err
	})
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return files, errors.Join(append(wrong, err)...)
}

// isText says whether names can be seen in a file. Consoles hold bytes of all
// kinds; what is packed or drawn begins with what it is.
func isText(data []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "\x89PNG", "PK\x03\x04", "\x28\xb5\x2f\xfd", "\xfd7zXZ", "BZh", "%PDF", "\x7fELF", "SQLite format 3"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return false
		}
	}
	return true
}

func manifest(files []file, replaced []Replacement) []byte {
	var b bytes.Buffer
	b.WriteString("# Made by `sweep bundle`. Check it here with: sha256sum -c " + manifestName + "\n")
	kinds := map[string]int{}
	for _, r := range replaced {
		kinds[r.What]++
	}
	for _, kind := range Kinds() {
		if n := kinds[kind]; n > 0 {
			fmt.Fprintf(&b, "# Replaced, each by one of its length: %d %s%s\n", n, kind, plural(n, kind))
		}
	}
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return b.Bytes()
}

// plural is the ending of a word of which there are n.
func plural(n int, word string) string {
	switch {
	case n == 1:
		return ""
	case strings.HasSuffix(word, "s"):
		return "es"
	}
	return "s"
}

func write(w io.Writer, top string, files []file, when time.Time) error {
	if when.Unix() < 0 {
		when = time.Unix(0, 0) // nobody knows
	}
	packed := gzip.NewWriter(w)
	t := tar.NewWriter(packed)
	for _, f := range files {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(top, f.name), Size: int64(len(f.data)), Mode: 0o644,
			ModTime: when.UTC().Truncate(time.Second), Format: tar.FormatPAX,
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), packed.Close())
}
