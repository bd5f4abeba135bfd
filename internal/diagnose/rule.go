package diagnose

import (
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
	re, not *pattern
	dpdk    bool // of a program that may run in a guest: the sentence says so
}

// table is every rule. A line is the first one's that matches, so what is
// specific stands before what is not.
var table = sync.OnceValue(func() []compiled {
	var t []compiled
	add := func(dpdk bool, rules []rule) {
		for _, r := range rules {
			c := compiled{rule: r, re: newPattern(r.match), dpdk: dpdk}
			if r.not != "" {
				c.not = newPattern(r.not)
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
	m := r.re.find(l.text)
	if m == nil || r.not != nil && r.not.find(l.text) != nil {
		return hit{}, false
	}
	v := values{}
	for g, name := range r.re.re.SubexpNames() {
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

// pieces are texts of which every match of the regexp holds at least one; none
// where there is no such text. Most lines of a console match no rule, and
// looking for a piece of text is much faster than the regexp.
func pieces(re string) []string {
	p, err := syntax.Parse(re, syntax.Perl)
	if err != nil {
		return nil
	}
	return required(p.Simplify())
}

func required(p *syntax.Regexp) []string {
	switch p.Op {
	case syntax.OpLiteral:
		if p.Flags&syntax.FoldCase == 0 {
			return []string{string(p.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(p.Sub[0])
	case syntax.OpConcat:
		// The parts are all there: the one that says most is enough.
		var best []string
		for _, s := range p.Sub {
			if r := required(s); shortest(r) > shortest(best) {
				best = r
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, s := range p.Sub {
			r := required(s)
			if len(r) == 0 {
				return nil
			}
			all = append(all, r...)
		}
		return all
	}
	return nil
}

func shortest(pieces []string) int {
	n := 0
	for i, p := range pieces {
		if i == 0 || len(p) < n {
			n = len(p)
		}
	}
	return n
}

// pattern is a regexp for one line that looks for its pieces first.
type pattern struct {
	re     *regexp.Regexp
	pieces []string // one is in every line that re matches
}

func newPattern(re string) *pattern {
	return &pattern{regexp.MustCompile(re), pieces(re)}
}

// find returns the groups of the first match in s, or nil.
func (p *pattern) find(s string) []string {
	for _, piece := range p.pieces {
		if strings.Contains(s, piece) {
			return p.re.FindStringSubmatch(s)
		}
	}
	if len(p.pieces) > 0 {
		return nil
	}
	return p.re.FindStringSubmatch(s)
}

// lazily compiles a pattern when it is first used.
func lazily(re string) func() *pattern {
	return sync.OnceValue(func() *pattern { return newPattern(re) })
}
