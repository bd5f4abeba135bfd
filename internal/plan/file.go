package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// File is a plan as it is written in YAML, for what doesn't fit flags. Each of
// its keys is a flag of the same name, but for guests and note.
type File struct {
	Parts  []Part // in the order in which they stand there
	Guests []Guest
	Note   string
}

// Part is a flag's value that a file has.
type Part struct {
	Key   string
	Value string // as the flag takes it
	Where string // "plan.yaml:7"
}

// Guest is a guest of the user's own.
type Guest struct {
	Name, Kernel, Initrd, Append string
	Where                        string
}

// Keys are what a plan's file can hold.
func Keys() []string { return names(planKeys()) }

// GuestKeys are what a guest in it can hold.
func GuestKeys() []string { return names(guestKeys()) }

// kind is what a key's value must be.
type kind int

const (
	text    kind = iota
	whole        // a whole number
	truth        // true or false
	share        // 1% or 0.01
	span         // a duration, 5s
	list         // the flag's text, or a list of what is between its commas
	path         // text; it starts at the file's folder
	objects      // a list of guests
)

// key is a key with what its value must be.
type key struct {
	name string
	kind kind
}

func planKeys() []key {
	return []key{
		{"sizes", list}, {"systems", list}, {"guests", objects},
		{"trials", whole}, {"full", truth}, {"precision", share}, {"max_trials", whole},
		{"duration", span}, {"wire", text}, {"seed", whole},
		{"kernel_sender", text}, {"memory", whole}, {"unikraft_image", path},
		{"note", text},
	}
}

func guestKeys() []key {
	return []key{{"name", text}, {"kernel", path}, {"initrd", path}, {"append", text}}
}

func names(keys []key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.name
	}
	return out
}

// mostBytes is the longest file that is taken for a plan.
const mostBytes = 1 << 20

// ReadFile reads a plan's file. All that is wrong with it is returned, each
// with its line, beside what is right. Its paths start at its own folder.
func ReadFile(name string) (File, []error) {
	f, err := os.Open(name)
	if err != nil {
		return File{}, []error{fmt.Errorf("read the plan: %w", err)}
	}
	defer f.Close()
	return read(f, name)
}

func read(from io.Reader, name string) (File, []error) {
	r := reader{name: name}
	var all []byte
	var err error
	if all, err = io.ReadAll(io.LimitReader(from, mostBytes+1)); err != nil {
		return r.file, []error{fmt.Errorf("read the plan: %w", err)}
	}
	if len(all) > mostBytes {
		return r.file, []error{fmt.Errorf("%s: more than %d KiB: a plan is a page of YAML", name, mostBytes>>10)}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(all)))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.wrong(0, "the plan is empty; it can hold %s", strings.Join(Keys(), ", "))
	case err != nil:
		r.syntax(err)
	default:
		r.plan(doc.Content[0])
		switch err := dec.Decode(&second); {
		case errors.Is(err, io.EOF):
		case err != nil:
			r.syntax(err)
		default:
			r.wrong(second.Line, "a second document begins; a file holds one plan")
		}
	}
	slices.SortStableFunc(r.problems, func(a, b located) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, p := range r.problems {
		errs = append(errs, fmt.Errorf("%s: %s", r.at(p.line), p.text))
	}
	return r.file, errs
}

// reader makes a File of YAML's nodes and collects what is wrong.
type reader struct {
	name     string
	file     File
	problems []located
}

// located is a problem and its line, 0 where it has none.
type located struct {
	line int
	text string
}

func (r *reader) wrong(line int, format string, a ...any) {
	r.problems = append(r.problems, located{line, fmt.Sprintf(format, a...)})
}

func (r *reader) at(line int) string {
	if line == 0 {
		return r.name
	}
	return fmt.Sprintf("%s:%d", r.name, line)
}

var yamlError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// syntax is an error of the YAML parser. Its lines are where it noticed.
func (r *reader) syntax(err error) {
	m := yamlError.FindStringSubmatch(err.Error())
	if m == nil {
		r.wrong(0, "%v", err)
		return
	}
	what := m[2]
	switch {
	case strings.Contains(what, "tab character"), strings.Contains(what, "cannot start any token"):
		what += " (YAML indents with blanks, not tabs, and a value that begins with a sign stands in quotes)"
	case strings.Contains(what, "mapping values are not allowed"):
		what += " (a key is indented too far, or a value with a colon lacks its quotes)"
	}
	if line, err := strconv.Atoi(m[1]); err == nil {
		r.wrong(line, "no YAML, here or on the line after: %s", what)
	} else {
		r.wrong(0, "no YAML: %s", what)
	}
}

func (r *reader) plan(n *yaml.Node) {
	for _, e := range r.entries(n, "the plan", planKeys()) {
		if e.kind == objects {
			r.guests(e.value)
			continue
		}
		value, ok := r.value(e.key, e.value)
		switch {
		case !ok:
		case e.name == "note":
			r.file.Note = value
		default:
			r.file.Parts = append(r.file.Parts, Part{e.name, value, r.at(e.line)})
		}
	}
}

func (r *reader) guests(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n.Line, "guests: %s; it takes %s", described(n), objects)
		return
	}
	for _, item := range n.Content {
		g := Guest{Where: r.at(item.Line)}
		before := len(r.problems)
		for _, e := range r.entries(item, "a guest", guestKeys()) {
			value, ok := r.value(e.key, e.value)
			if !ok {
				continue
			}
			switch e.name {
			case "name":
				g.Name = value
			case "kernel":
				g.Kernel = value
			case "initrd":
				g.Initrd = value
			case "append":
				g.Append = value
			}
		}
		if len(r.problems) == before && (g.Name == "" || g.Kernel == "") {
			r.wrong(item.Line, "a guest needs a name and a kernel")
		}
		if len(r.problems) == before {
			r.file.Guests = append(r.file.Guests, g)
		}
	}
}

// entry is a key that was given, with its value and its line.
type entry struct {
	key
	value *yaml.Node
	line  int
}

// entries are the known keys of a mapping, each once.
func (r *reader) entries(n *yaml.Node, what string, known []key) []entry {
	if n.Kind != yaml.MappingNode {
		r.wrong(n.Line, "%s: %s; it takes keys with values: %s", what, described(n), strings.Join(names(known), ", "))
		return nil
	}
	if len(n.Content) == 0 {
		r.wrong(n.Line, "%s is empty; it can hold %s", what, strings.Join(names(known), ", "))
	}
	var out []entry
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(known, func(k key) bool { return k.name == name.Value })
		switch {
		case name.Kind != yaml.ScalarNode:
			r.wrong(name.Line, "a key is a word; there are %s", strings.Join(names(known), ", "))
		case at < 0:
			r.wrong(name.Line, "unknown key %q; %s", name.Value, suggestion(name.Value, names(known)))
		case first[name.Value] > 0:
			r.wrong(name.Line, "%s is there twice; the first is on line %d", name.Value, first[name.Value])
		default:
			first[name.Value] = name.Line
			out = append(out, entry{known[at], value, name.Line})
		}
	}
	return out
}

// value is a key's value in the words of its flag; not ok where it is of
// another kind, which is then said.
func (r *reader) value(k key, n *yaml.Node) (value string, ok bool) {
	if k.kind == list && n.Kind == yaml.SequenceNode {
		return r.list(k, n)
	}
	if !k.kind.takes(n) {
		r.wrong(n.Line, "%s: %s; it takes %s", k.name, described(n), k.kind)
		return "", false
	}
	switch k.kind {
	case truth:
		return strings.ToLower(n.Value), true
	case share:
		if _, err := ParsePrecision(n.Value); err != nil {
			r.wrong(n.Line, "%s: %v", k.name, err)
			return "", false
		}
	case path:
		if !filepath.IsAbs(n.Value) {
			return filepath.Join(filepath.Dir(r.name), n.Value), true
		}
	}
	return n.Value, true
}

// takes says whether a value can be of this kind.
func (k kind) takes(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" || n.Style&yaml.TaggedStyle != 0 {
		return false
	}
	switch k {
	case whole:
		// YAML reads 0x40, 010 and 1_000 in ways that a flag doesn't.
		v, err := strconv.ParseUint(n.Value, 10, 64)
		return n.Tag == "!!int" && err == nil && strconv.FormatUint(v, 10) == n.Value
	case truth:
		return n.Tag == "!!bool"
	case span:
		_, err := time.ParseDuration(n.Value)
		return n.Tag == "!!str" && err == nil
	case objects:
		return false
	}
	return true
}

// String is what the kind takes, in words.
func (k kind) String() string {
	switch k {
	case whole:
		return "a whole number"
	case truth:
		return "true or false"
	case share:
		return "a share such as 1% or 0.01"
	case span:
		return "a time with its unit, such as 5s or 1m30s"
	case list:
		return "a list, or what the flag takes"
	case path:
		return "a file's name"
	case objects:
		return "a list, of a name and a kernel each"
	}
	return "text"
}

// list joins a list with commas, as the flag has them.
func (r *reader) list(k key, n *yaml.Node) (string, bool) {
	var items []string
	before := len(r.problems)
	for _, item := range n.Content {
		if !text.takes(item) {
			r.wrong(item.Line, "%s: %s in the list", k.name, described(item))
		}
		items = append(items, item.Value)
	}
	if len(items) == 0 {
		r.wrong(n.Line, "%s: the list is empty; leave it out for the default", k.name)
	}
	return strings.Join(items, ","), len(r.problems) == before
}

// described says what a value is, where it is not what it must be.
func described(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "keys with values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "*" + n.Value + ", an alias"
	case n.Style&yaml.TaggedStyle != 0:
		return n.Tag + ", a tag"
	case n.Tag == "!!null", n.Value == "":
		return "no value"
	case n.Tag == "!!str":
		return fmt.Sprintf("the text %q", n.Value)
	}
	return n.Value
}

// suggestion is the known name that was meant, where one is near, or all of
// them.
func suggestion(typed string, known []string) string {
	typed = strings.ReplaceAll(strings.ToLower(typed), "-", "_")
	near := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(typed, a), distance(typed, b)) })
	if distance(typed, near) <= max(1, len(near)/3) {
		return "did you mean " + near + "?"
	}
	return "there are " + strings.Join(known, ", ")
}

// distance is how many letters must be put in, taken out or replaced to make
// one word of another (Levenshtein's).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
