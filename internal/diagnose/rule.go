package diagnose

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// rule is a failure that can be recognised in a line.
//
// what, why and mend are the three parts of its sentence. {name} in them is
// the regexp's group of that name, {name|else} where the group may be empty;
// a group name2 stands in for name where that one is empty. More values come
// from more.
type rule struct {
	kind  string
	rank  rank
	match string // a regexp that recognises the line
	not   string // a regexp for lines that are none although they match

	// more looks at the lines around and adds values; false: it is none.
	more func(c *console, i int, v values) bool

	once bool // reported once a text, whatever its values

	what, why, mend string
}

// rank is how much a rule knows: the best one in what a process printed is its
// failure, and the others follow from it.
type rank int

const (
	note   rank = iota // not fatal; hides nothing and is hidden by nothing
	cause              // why it failed
	effect             // what failed for it
	ending             // that something failed
	exit               // that it ended
)

// values are what the placeholders of a sentence stand for.
type values map[string]string

// compiled is a rule ready to use.
type compiled struct {
	rule
	re, not *regexp.Regexp
	piece   string // is in every line that re matches; looked for first
	dpdk    bool   // of a program that may run in a guest: the sentence says so
}

// table is every rule. A line is the first one's that matches, so what is
// specific stands before what is not.
var table = sync.OnceValue(func() []compiled {
	var t []compiled
	add := func(dpdk bool, rules []rule) {
		for _, r := range rules {
			c := compiled{rule: r, re: regexp.MustCompile(r.match), piece: piece(r.match), dpdk: dpdk}
			if r.not != "" {
				c.not = regexp.MustCompile(r.not)
			}
			t = append(t, c)
		}
	}
	add(true, vfioRules())
	add(true, vhostRules())
	add(true, testpmdRules())
	add(false, qemuRules())
	add(false, guestRules())
	add(true, ealRules())
	add(false, hostRules())
	add(true, endings())
	return t
})

// on tries the rule on line i.
func (r *compiled) on(c *console, i int) (hit, bool) {
	l := c.lines[i]
	if !strings.Contains(l.text, r.piece) {
		return hit{}, false
	}
	m := r.re.FindStringSubmatch(l.text)
	if m == nil || r.not != nil && r.not.MatchString(l.text) {
		return hit{}, false
	}
	v := values{}
	for g, name := range r.re.SubexpNames() {
		if name == "" {
			continue
		}
		name = strings.TrimRight(name, "0123456789")
		if v[name] == "" {
			v[name] = strings.TrimSpace(m[g])
		}
	}
	if r.more != nil && !r.more(c, i, v) {
		return hit{}, false
	}
	where := ""
	if r.dpdk && l.guest {
		where = "in the guest, "
	}
	return hit{
		Finding: Finding{
			Line:  l.n,
			Kind:  r.kind,
			What:  where + expand(r.what, v),
			Why:   expand(r.why, v),
			Mend:  expand(r.mend, v),
			Fatal: r.rank != note,
		},
		rank: r.rank,
		once: r.once,
		run:  l.run,
	}, true
}

// expand puts the values into a sentence.
func expand(s string, v values) string {
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(s, "{")
		b.WriteString(head)
		if !ok {
			return b.String()
		}
		name, tail, ok := strings.Cut(rest, "}")
		if !ok {
			b.WriteString("{" + rest)
			return b.String()
		}
		name, otherwise, _ := strings.Cut(name, "|")
		if got := v[name]; got != "" {
			b.WriteString(got)
		} else {
			b.WriteString(otherwise)
		}
		s = tail
	}
}

// piece is the longest text that every match of the regexp holds; "" where
// there is none. Most lines of a console match no rule, and looking for a
// piece of text is much faster than the regexp.
func piece(re string) string {
	p, err := syntax.Parse(re, syntax.Perl)
	if err != nil {
		return ""
	}
	return required(p.Simplify())
}

func required(p *syntax.Regexp) string {
	switch p.Op {
	case syntax.OpLiteral:
		if p.Flags&syntax.FoldCase == 0 {
			return string(p.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(p.Sub[0])
	case syntax.OpConcat:
		long := ""
		for _, s := range p.Sub {
			if r := required(s); len(r) > len(long) {
				long = r
			}
		}
		return long
	}
	return ""
}

// also is a more that adds fixed values.
func also(add values) func(*console, int, values) bool {
	return func(_ *console, _ int, v values) bool {
		maps.Copy(v, add)
		return true
	}
}

// lazily compiles a regexp when it is first used.
func lazily(re string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })
}
