package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Names are what tells a machine or a person in a run's folder.
type Names struct {
	Hosts []string
	Users []string
	Homes []string // folders
	Words []string // whatever else is to go
}

// LocalNames are those of this machine and of who is logged in on it.
func LocalNames() (Names, error) {
	var n Names
	host, err := os.Hostname()
	if err != nil {
		return n, fmt.Errorf("find this machine's name, to replace it: %w", err)
	}
	n.Hosts = append(n.Hosts, host)
	if short, domain, ok := strings.Cut(host, "."); ok {
		n.Hosts = append(n.Hosts, short, domain)
	}
	for _, key := range []string{"USER", "LOGNAME", "SUDO_USER"} {
		n.Users = append(n.Users, os.Getenv(key))
	}
	n.Homes = append(n.Homes, os.Getenv("HOME"))
	for _, name := range []string{"", os.Getenv("SUDO_USER")} {
		u, err := user.Current()
		if name != "" {
			u, err = user.Lookup(name)
		}
		if err == nil {
			n.Users = append(n.Users, u.Username, u.Name)
			n.Homes = append(n.Homes, u.HomeDir)
		}
	}
	return n, nil
}

// Replacement is a name that an archive no longer has.
type Replacement struct {
	What  string `json:"what"` // "host name", "MAC address", ...
	Was   string `json:"was"`
	With  string `json:"with"` // as long
	Times int    `json:"times"`
}

// Kinds are what a Replacement can be of.
func Kinds() []string {
	return []string{"home folder", "host name", "user name", "word", "MAC address", "IP address"}
}

// Left is a name that is still there.
type Left struct {
	Was string `json:"was"`
	Why string `json:"why"`
}

// shared are accounts and hosts that half the world has: they tell nobody, and
// are words that consoles use.
func shared() []string {
	return []string{"root", "admin", "user", "ubuntu", "debian", "fedora", "centos", "rocky", "ec2-user", "azureuser", "nobody", "test", "build", "builder",
		"localhost", "localdomain", "localhost.localdomain", "local", "host", "linux", "vm", "node", "lab", "server", "client", "guest", "sender", "receiver",
		"sweep", "unikraft", "bare", "dpdk", "testpmd", "qemu", "kernel", "vhost", "virtio", "memif", "veth", "tcg", "kvm", "unknown"}
}

// replacer replaces names one to one, each by a placeholder as long as itself,
// so that offsets into a console's bytes stay what they are.
type replacer struct {
	literals []*literal // the longest first
	find     *regexp.Regexp
	macs     map[string]*Replacement // by their digits, in lower case
	ips      map[netip.Addr]*Replacement
	left     []Left
}

// literal is a name as it is looked for.
type literal struct {
	Replacement
	loose bool // also in the middle of a word
}

// newReplacer learns what is to be replaced in the files.
func newReplacer(names Names, files []file) (*replacer, error) {
	r := &replacer{macs: map[string]*Replacement{}, ips: map[netip.Addr]*Replacement{}}
	for _, f := range files {
		// /home/NAME is of a user, even of one that this machine doesn't know.
		for _, m := range homes.FindAllSubmatch(f.data, -1) {
			names.Users = append(names.Users, string(m[1]))
		}
	}
	words := vocabulary(files)
	taken := map[string]bool{}
	for _, group := range []struct {
		what, label string
		names       []string
	}{
		{"home folder", "home", names.Homes},
		{"host name", "host", names.Hosts},
		{"user name", "user", names.Users},
		{"word", "word", names.Words},
	} {
		n := 0
		for _, name := range group.names {
			name = strings.TrimSpace(name)
			if name == "" || taken[strings.ToLower(name)] {
				continue
			}
			taken[strings.ToLower(name)] = true
			if group.what == "home folder" && (name == "/" || name == "/root" || homes.MatchString(name+"/")) {
				continue // nobody's, or told by the user's name
			}
			if why := keep(name, words); why != "" {
				r.left = append(r.left, Left{name, why})
				continue
			}
			l := &literal{Replacement: Replacement{What: group.what, Was: name}, loose: len(name) >= 5}
			for w := range words {
				l.loose = l.loose && !strings.Contains(w, strings.ToLower(name))
			}
			for l.With == "" {
				n++
				slash := ""
				if name[0] == '/' {
					slash = "/" // so that a path is still one
				}
				with, err := placeholder(group.label, n, len(name)-len(slash))
				if err != nil {
					return nil, fmt.Errorf("replace %q: %w", name, err)
				}
				with = slash + with
				if !slices.ContainsFunc(files, func(f file) bool { return bytes.Contains(f.data, []byte(with)) }) {
					l.With = with
				}
			}
			r.literals = append(r.literals, l)
		}
	}
	slices.SortStableFunc(r.literals, func(a, b *literal) int { return cmp.Compare(len(b.Was), len(a.Was)) })
	if len(r.literals) > 0 {
		quoted := make([]string, len(r.literals))
		for i, l := range r.literals {
			quoted[i] = regexp.QuoteMeta(l.Was)
		}
		var err error
		if r.find, err = regexp.Compile("(?i)" + strings.Join(quoted, "|")); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// keep says why a name is not replaced; "" where it is.
func keep(name string, words map[string]bool) string {
	lower := strings.ToLower(name)
	switch {
	case slices.Contains(shared(), lower):
		return "it is a name that many machines have"
	case words[lower]:
		return "the record uses this word itself; nothing in the archive could be read without it"
	case len(name) < 3:
		return "it is too short to be told from other text"
	}
	return ""
}

// vocabulary is the words that the record itself is written in, in lower case:
// the keys of its JSON, the systems and phases, its files.
func vocabulary(files []file) map[string]bool {
	out := map[string]bool{}
	add := func(text string) {
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') }) {
			out[w] = true
		}
		for _, w := range strings.Split(strings.ToLower(text), "/") {
			out[w] = true // warm-up and vhost-user are words, too
		}
	}
	add("run trials tape costs counters commands console times " + manifestName)
	// What testpmd's statistics are found by.
	add("testpmd show nic statistics for port rx tx packets missed bytes errors nombuf throughput since last pps bps")
	for _, f := range files {
		if ext := filepath.Ext(f.name); ext != ".json" && ext != ".jsonl" {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(f.data))
		for {
			var v any
			if dec.Decode(&v) != nil {
				break // its end, or a line that is damaged
			}
			keys(v, add)
		}
	}
	return out
}

// keys gives the keys of a JSON value to add, and what systems, kinds, drivers
// and a trial's phases are called.
func keys(v any, add func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			add(k)
			switch s, ok := x.(string); {
			case ok && slices.Contains([]string{"system", "guest", "attachment", "kind", "phase", "driver", "wire", "accel", "share"}, k):
				add(s)
			default:
				keys(x, add)
			}
		}
	case []any:
		for _, x := range v {
			keys(x, add)
		}
	}
}

// placeholder is the n-th of a kind, of a length: host1xxx.
func placeholder(label string, n, length int) (string, error) {
	for _, l := range []string{label, label[:1]} {
		if p := l + strconv.Itoa(n); len(p) <= length {
			return p + strings.Repeat("x", length-len(p)), nil
		}
	}
	return "", fmt.Errorf("there are more names than placeholders of %d letters", length)
}

var (
	homes = regexp.MustCompile(`/(?:home|Users)/([A-Za-z0-9_][A-Za-z0-9._-]*)`)
	macs  = regexp.MustCompile(`(?i)(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?:[0-9a-f]{2}-){5}[0-9a-f]{2}|enx[0-9a-f]{12}`)
	ipv6s = regexp.MustCompile(`[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*`) // and whatever else has two colons
	ipv4s = regexp.MustCompile(`(?:[0-9]{1,3}\.){3}[0-9]{1,3}`)

	// escape is what may stand before a word and is none of its letters: in
	// JSON a line feed is \n, on a terminal ESC [ 0 K clears a line.
	escape = regexp.MustCompile(`(?:\\(?:[bfnrt]|u[0-9a-fA-F]{4})|\x1b\[[0-9;]*[A-Za-z]|\\u001[bB]\[[0-9;]*[A-Za-z])$`)
)

// apply replaces all names in a text.
func (r *replacer) apply(text []byte) []byte {
	if r.find != nil {
		text = replace(text, r.find, func(m []byte, left, right bool) string {
			for _, l := range r.literals {
				if strings.EqualFold(l.Was, string(m)) && (left && right || l.loose) {
					l.Times++
					return l.With
				}
			}
			return ""
		})
	}
	text = replace(text, macs, r.mac)
	text = replace(text, ipv6s, r.ipv6)
	return replace(text, ipv4s, func(m []byte, left, right bool) string {
		if !left || !right {
			return ""
		}
		return r.ip(string(m))
	})
}

// replace replaces what with gives a word for. left and right say whether the
// match has no letter and no digit on that side.
func replace(text []byte, find *regexp.Regexp, with func(match []byte, left, right bool) string) []byte {
	var out []byte
	from := 0
	for _, m := range find.FindAllIndex(text, -1) {
		before, after := text[max(0, m[0]-16):m[0]], text[m[1]:]
		left := len(before) == 0 || !isWord(before[len(before)-1]) || escape.Match(before)
		right := len(after) == 0 || !isWord(after[0])
		if w := with(text[m[0]:m[1]], left, right); w != "" {
			out = append(append(out, text[from:m[0]]...), w...)
			from = m[1]
		}
	}
	return append(out, text[from:]...)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// mac gives a MAC address its placeholder, a locally administered one written
// the same way. The kit's own, net_vhost's, and those of no NIC stay.
func (r *replacer) mac(match []byte, left, right bool) string {
	if !left || !right {
		return ""
	}
	text := strings.ToLower(string(match))
	prefix := ""
	if rest, ok := strings.CutPrefix(text, "enx"); ok {
		prefix, text = string(match[:3]), rest
	}
	digits := strings.NewReplacer(":", "", "-", "").Replace(text)
	first, err := strconv.ParseUint(digits[:2], 16, 8)
	if err != nil || first&1 == 1 || strings.Trim(digits, "0") == "" || strings.HasPrefix(digits, "0200000000") || strings.HasPrefix(digits, "56484f5354") {
		return ""
	}
	m := r.macs[digits]
	if m == nil {
		m = &Replacement{What: "MAC address", Was: string(match), With: fmt.Sprintf("02bb%08x", len(r.macs)+1)}
		r.macs[digits] = m
	}
	m.Times++
	if prefix != "" {
		return prefix + m.With
	}
	return pairs(m.With, string(match[2]))
}

// pairs are digits as a MAC address has them.
func pairs(digits, between string) string {
	var out []string
	for p := range slices.Chunk([]byte(digits), 2) {
		out = append(out, string(p))
	}
	return strings.Join(out, between)
}

// ipv6 finds an address in what has two colons: also behind "addr:" and before
// the colon or the stop of a sentence.
func (r *replacer) ipv6(match []byte, left, right bool) string {
	text := string(match)
	body := strings.TrimRight(text, ".")
	if strings.HasSuffix(body, ":") && !strings.HasSuffix(body, "::") {
		body = body[:len(body)-1]
	}
	tail := text[len(body):]
	if tail == "" && !right {
		return ""
	}
	for from := 0; ; {
		if from > 0 || left {
			if with := r.ip(body[from:]); with != "" {
				return body[:from] + with + tail
			}
		}
		next := strings.IndexByte(body[from:], ':')
		if next < 0 {
			return ""
		}
		from += next + 1
	}
}

// ip gives an address its placeholder, ip-1xxxx. Addresses of every machine,
// of documents and of tests stay.
func (r *replacer) ip(text string) string {
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() {
		return ""
	}
	for _, p := range []string{"255.0.0.0/8", "0.0.0.0/8", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return ""
		}
	}
	i := r.ips[a]
	if i == nil {
		i = &Replacement{What: "IP address", Was: text, With: "ip-" + strconv.Itoa(len(r.ips)+1)}
		if len(i.With) > len(text) {
			return "" // such as a::b, which no NIC has
		}
		r.ips[a] = i
	}
	i.Times++
	return i.With + strings.Repeat("x", max(0, len(text)-len(i.With)))
}

// replaced are the names that were there.
func (r *replacer) replaced() []Replacement {
	var out []Replacement
	for _, l := range r.literals {
		if l.Times > 0 {
			out = append(out, l.Replacement)
		}
	}
	for _, m := range r.macs {
		shown := *m
		shown.With = pairs(m.With, ":")
		out = append(out, shown)
	}
	for _, i := range r.ips {
		out = append(out, *i)
	}
	slices.SortFunc(out, func(a, b Replacement) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(len(a.With), len(b.With)), cmp.Compare(a.With, b.With), cmp.Compare(a.Was, b.Was))
	})
	return out
}
