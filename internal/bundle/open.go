package bundle

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Open gives a run's folder as it is, and unpacks an archive of [Make] into a
// temporary one. An archive may come from anybody: one that would write
// elsewhere, that holds anything but plain files, or whose files are not what
// its MANIFEST says, is refused. done takes away what was unpacked.
func Open(name string) (dir string, done func() error, err error) {
	nothing := func() error { return nil }
	st, err := os.Stat(name)
	if err != nil {
		return "", nothing, err
	}
	if st.IsDir() {
		return name, nothing, nil
	}
	in, err := os.Open(name)
	if err != nil {
		return "", nothing, err
	}
	defer in.Close()
	packed, err := gzip.NewReader(bufio.NewReader(in))
	if err != nil {
		return "", nothing, fmt.Errorf("%s is neither a run's folder nor an archive of `sweep bundle`: %w", name, err)
	}
	temp, err := os.MkdirTemp("", "sweep-bundle-")
	if err != nil {
		return "", nothing, err
	}
	done = func() error { return os.RemoveAll(temp) }
	top, err := unpack(tar.NewReader(packed), temp)
	if err == nil {
		// What follows the tar's end belongs to gzip's checksum.
		_, err = io.Copy(io.Discard, io.LimitReader(packed, 1<<20))
	}
	if err != nil {
		return "", nothing, errors.Join(fmt.Errorf("unpack %s: %w", name, err), done())
	}
	return filepath.Join(temp, top), done, nil
}

// unpack writes an archive's files under a folder, checks their sums, and
// returns the one folder that they are in.
func unpack(t *tar.Reader, temp string) (top string, err error) {
	root, err := os.OpenRoot(temp) // nothing is written outside, whatever a name says
	if err != nil {
		return "", err
	}
	defer root.Close()
	sums := map[string]string{}
	var manifest []byte
	total := int64(0)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		first, rest, ok := strings.Cut(h.Name, "/")
		switch {
		case h.Typeflag != tar.TypeReg:
			return "", fmt.Errorf("%q is a link or a device, which a run's folder never has", h.Name)
		case !filepath.IsLocal(h.Name) || path.Clean(h.Name) != h.Name || strings.ContainsAny(h.Name, "\\\x00\n"):
			return "", fmt.Errorf("%q leads elsewhere, or is no name that `sweep bundle` gives", h.Name)
		case !ok || top != "" && first != top:
			return "", fmt.Errorf("%q is not in the one folder that an archive has", h.Name)
		case sums[rest] != "" || rest == manifestName && manifest != nil:
			return "", fmt.Errorf("%q is there twice", h.Name)
		}
		if total += h.Size; h.Size > maxFile || total > maxTotal || len(sums) == maxFiles {
			return "", fmt.Errorf("%q: there is more in it than any run makes", h.Name)
		}
		top = first
		sum := sha256.New()
		if err := extract(root, h.Name, t, sum); err != nil {
			return "", fmt.Errorf("%q: %w", h.Name, err)
		}
		if rest == manifestName {
			if manifest, err = root.ReadFile(h.Name); err != nil {
				return "", err
			}
			continue
		}
		sums[rest] = hex.EncodeToString(sum.Sum(nil))
	}
	if manifest == nil {
		return "", fmt.Errorf("it has no %s: `sweep bundle` did not make it", manifestName)
	}
	return top, compare(manifest, sums)
}

// extract writes a file and sums it up.
func extract(root *os.Root, name string, from io.Reader, sum hash.Hash) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(f, sum), from)
	return errors.Join(err, f.Close())
}

// compare says which files are not what the manifest lists.
func compare(manifest []byte, sums map[string]string) error {
	var wrong []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(manifest)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		sum, name, ok := strings.Cut(line, "  ")
		seen[name] = true
		switch got := sums[name]; {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s has the line %q, which is no sum and name", manifestName, line))
		case got == "":
			wrong = append(wrong, fmt.Sprintf("%q is missing", name))
		case got != sum:
			wrong = append(wrong, fmt.Sprintf("%q is not what it was when the archive was made", name))
		}
	}
	for name := range sums {
		if !seen[name] {
			wrong = append(wrong, fmt.Sprintf("%q is not in the %s", name, manifestName))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		const most = 20
		if len(wrong) > most {
			wrong = append(wrong[:most], fmt.Sprintf("and %d more", len(wrong)-most))
		}
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
