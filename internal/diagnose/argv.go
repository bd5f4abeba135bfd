package diagnose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SharedMemory checks the memory on the command line of a QEMU with a
// vhost-user network port. The port works on the guest's memory, so all of it
// must be backends that another process can map: memory-backend-file with
// share=on, or memory-backend-memfd or -shm, which share unless told not to;
// attached with -numa node,memdev= or -machine memory-backend=, and of the size
// of -m together. Otherwise the port maps a copy of its own, or nothing: both
// sides say that they are ready, and no packet arrives.
//
// It returns nil where the memory is shared, and where no port is vhost-user.
func SharedMemory(argv []string) *Finding {
	m := parseMemory(argv)
	if !m.vhostUser {
		return nil
	}
	bad := func(what, why, mend string) *Finding {
		return &Finding{Kind: "guest-memory-not-shared", What: what, Why: why, Mend: mend, Fatal: true}
	}
	const blind = "so vhost-user can't see the guest's packets and counts 0 without an error"
	example := fmt.Sprintf("-object memory-backend-memfd,id=ram,size=%s,share=on -machine memory-backend=ram", mebibytes(m.size))
	if len(m.used) == 0 {
		if ids := slices.Sorted(maps.Keys(m.backends)); len(ids) > 0 {
			return bad(
				fmt.Sprintf("the memory backend %q is not attached to the guest", ids[0]),
				"neither -numa node,memdev= nor -machine memory-backend= names it, "+blind,
				"add -machine memory-backend="+ids[0]+", or with QEMU before 5.0 -numa node,memdev="+ids[0])
		}
		why := "no -object memory-backend-* is given, " + blind
		if m.path {
			why = "-mem-path gives private memory, " + blind
		}
		return bad("the guest's memory is not shared", why, "add "+example)
	}
	var total uint64
	for _, id := range m.used {
		b, ok := m.backends[id]
		if !ok {
			return bad(
				fmt.Sprintf("the guest's memory backend %q is nowhere defined", id),
				"-numa or -machine names it and no -object has that id",
				fmt.Sprintf("add -object memory-backend-memfd,id=%s,size=%s,share=on", id, mebibytes(m.size)))
		}
		switch {
		case b.kind != "memory-backend-file" && b.kind != "memory-backend-memfd" && b.kind != "memory-backend-shm":
			return bad(
				fmt.Sprintf("the guest's memory backend %q is a %s, which no other process can map", id, b.kind),
				"it has no file to hand over, "+blind,
				fmt.Sprintf("write -object memory-backend-memfd,id=%s,size=%s,share=on", id, mebibytes(b.size)))
		case !b.shared():
			return bad(
				fmt.Sprintf("the guest's memory backend %q has no share=on", id),
				"the guest then works on a private copy of it, "+blind,
				fmt.Sprintf("add share=on: -object %s,id=%s,...,share=on", b.kind, id))
		}
		total += b.size
	}
	if total != m.size && total != 0 {
		return bad(
			fmt.Sprintf("the guest's memory backends have %s and -m says %s", mebibytes(total), mebibytes(m.size)),
			"their sizes must add up to -m, and what they don't cover isn't shared",
			fmt.Sprintf("write -m %s, or the size in -object that adds up to it", mebibytes(total)))
	}
	return nil
}

// memory is what a QEMU command line says about the guest's memory.
type memory struct {
	vhostUser bool
	path      bool               // -mem-path
	size      uint64             // -m
	backends  map[string]backend // by id
	used      []string           // the ids that -numa and -machine name
}

type backend struct {
	id, kind, share string
	size            uint64
}

func (b backend) shared() bool {
	switch b.share {
	case "on", "yes", "true", "y":
		return true
	case "":
		// backends/hostmem-memfd.c and hostmem-shm.c share by default,
		// hostmem-file.c doesn't.
		return b.kind != "memory-backend-file"
	}
	return false
}

func parseMemory(argv []string) memory {
	m := memory{size: 128 << 20, backends: map[string]backend{}}
	for i := 0; i+1 < len(argv); i++ {
		if !strings.HasPrefix(argv[i], "-") {
			continue
		}
		arg := argv[i+1]
		switch "-" + strings.TrimLeft(argv[i], "-") {
		case "-netdev":
			p := parameters(arg, "type")
			m.vhostUser = m.vhostUser || p["type"] == "vhost-user"
		case "-m":
			p := parameters(arg, "size")
			if n, ok := parseSize(p["size"], 1<<20); ok {
				m.size = n
			}
		case "-mem-path":
			m.path = true
		case "-object":
			p := parameters(arg, "qom-type")
			if strings.HasPrefix(p["qom-type"], "memory-backend-") {
				size, _ := parseSize(p["size"], 1)
				m.backends[p["id"]] = backend{id: p["id"], kind: p["qom-type"], share: p["share"], size: size}
			}
		case "-numa":
			if id := parameters(arg, "type")["memdev"]; id != "" {
				m.used = append(m.used, id)
			}
		case "-machine", "-M":
			if id := parameters(arg, "type")["memory-backend"]; id != "" {
				m.used = append(m.used, id)
			}
		default:
			continue
		}
		i++
	}
	return m
}

// parameters takes an option's value apart: a,b=c,d or JSON. first is the name
// of a first part without a name; other parts without one are booleans.
func parameters(arg, first string) map[string]string {
	p := map[string]string{}
	if strings.HasPrefix(arg, "{") {
		var obj map[string]any
		if json.Unmarshal([]byte(arg), &obj) != nil {
			return p
		}
		for k, v := range obj {
			switch v := v.(type) {
			case float64:
				p[k] = strconv.FormatFloat(v, 'f', -1, 64)
			case bool:
				p[k] = map[bool]string{true: "on", false: "off"}[v]
			default:
				p[k] = fmt.Sprint(v)
			}
		}
		return p
	}
	// A comma within a value is written twice.
	const comma = "\x00"
	for i, part := range strings.Split(strings.ReplaceAll(arg, ",,", comma), ",") {
		k, v, ok := strings.Cut(part, "=")
		switch {
		case !ok && i == 0:
			k, v = first, part
		case !ok:
			v = "on"
		}
		p[k] = strings.ReplaceAll(v, comma, ",")
	}
	return p
}

// parseSize reads a size as QEMU does: a number with a suffix, or in the unit.
func parseSize(s string, unit uint64) (uint64, bool) {
	if s == "" {
		return 0, false
	}
	if i := strings.IndexByte("bkmgtpe", s[len(s)-1]|0x20); i >= 0 && s[len(s)-1] > '9' {
		unit, s = 1<<(10*i), s[:len(s)-1]
	}
	if n, err := strconv.ParseUint(s, 0, 64); err == nil && n <= 1<<62/unit {
		return n * unit, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f*float64(unit) > 1<<62 {
		return 0, false
	}
	return uint64(f * float64(unit)), true
}

// split divides a line into words as a POSIX shell does, without expanding
// anything.
func split(s string) []string {
	var words []string
	var b strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		ch := s[i]
		switch {
		case quote != 0 && ch == quote:
			quote = 0
		case quote == '\'':
			b.WriteByte(ch)
		case ch == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
			in = true
		case quote != 0:
			b.WriteByte(ch)
		case ch == '\'' || ch == '"':
			quote, in = ch, true
		case ch == ' ' || ch == '\t':
			if in {
				words = append(words, b.String())
				b.Reset()
				in = false
			}
		default:
			b.WriteByte(ch)
			in = true
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}
