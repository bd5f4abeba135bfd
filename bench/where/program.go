package main

import (
	"bytes"
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// program is an image with its symbols and its DWARF.
type program struct {
	text      *elf.Section
	functions []elf.Symbol // by address
	dwarf     *dwarf.Data
}

func openProgram(path string) (*program, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	p := &program{text: f.Section(".text")}
	if p.text == nil {
		return nil, errors.New("it has no section .text")
	}
	if p.dwarf, err = f.DWARF(); err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Size > 0 {
			p.functions = append(p.functions, s)
		}
	}
	slices.SortStableFunc(p.functions, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return p, nil
}

// function is the one function of a name.
func (p *program) function(name string) (elf.Symbol, error) {
	var found []elf.Symbol
	for _, s := range p.functions {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return elf.Symbol{}, fmt.Errorf("there are %d functions %s", len(found), name)
	}
	return found[0], nil
}

// clocks are the addresses of the two rdtsc in a function.
func (p *program) clocks(name string) (at [2]uint64, err error) {
	s, err := p.function(name)
	if err != nil {
		return at, err
	}
	code := make([]byte, s.Size)
	if _, err := p.text.ReadAt(code, int64(s.Value-p.text.Addr)); err != nil {
		return at, err
	}
	rdtsc := []byte{0x0f, 0x31}
	if n := bytes.Count(code, rdtsc); n != 2 {
		return at, fmt.Errorf("%s has %d times the bytes of rdtsc", name, n)
	}
	first, last := bytes.Index(code, rdtsc), bytes.LastIndex(code, rdtsc)
	return [2]uint64{s.Value + uint64(first), s.Value + uint64(last)}, nil
}

// filter is QEMU's -dfilter for all code but that which waits between two
// stretches and measures the clock at the start, of which there are millions of
// instructions.
func (p *program) filter() string {
	var ranges []string
	begin := p.text.Addr
	for _, s := range p.functions {
		file := p.file(s.Value)
		if !strings.HasSuffix(file, "/guest/c/sender.c") && !strings.HasSuffix(file, "/guest/c/pc.c") {
			continue
		}
		if s.Value > begin {
			ranges = append(ranges, fmt.Sprintf("%#x..%#x", begin, s.Value-1))
		}
		begin = s.Value + s.Size
	}
	return strings.Join(append(ranges, fmt.Sprintf("%#x..%#x", begin, p.text.Addr+p.text.Size)), ",")
}

// file is the source that an address was compiled from, "" where the image
// doesn't say so.
func (p *program) file(pc uint64) string {
	unit, err := p.dwarf.Reader().SeekPC(pc)
	if err != nil {
		return ""
	}
	name, _ := unit.Val(dwarf.AttrName).(string)
	return path.Clean(name)
}

// inlined are the functions whose code an address is, though it lies within
// another function's, from the outermost on.
func (p *program) inlined(pc uint64) ([]string, error) {
	r := p.dwarf.Reader()
	if _, err := r.SeekPC(pc); err != nil {
		if errors.Is(err, dwarf.ErrUnknownPC) {
			return nil, nil // assembly
		}
		return nil, err
	}
	var names []string
	depth := 1
	for depth > 0 {
		e, err := r.Next()
		if err != nil {
			return nil, err
		}
		if e == nil {
			break
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		in := false
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock:
			ranges, err := p.dwarf.Ranges(e)
			if err != nil {
				return nil, err
			}
			in = slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= pc && pc < r[1] })
		}
		if in && e.Tag == dwarf.TagInlinedSubroutine {
			name, err := p.origin(e)
			if err != nil {
				return nil, err
			}
			names = append(names, name)
		}
		switch {
		case !e.Children:
		case in:
			depth++
		default:
			r.SkipChildren()
		}
	}
	return names, nil
}

// origin is the name of the function that was inlined.
func (p *program) origin(e *dwarf.Entry) (string, error) {
	for {
		if name, ok := e.Val(dwarf.AttrName).(string); ok {
			return name, nil
		}
		at, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if at, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return "", fmt.Errorf("the DWARF entry %#x has no name", e.Offset)
			}
		}
		r := p.dwarf.Reader()
		r.Seek(at)
		var err error
		if e, err = r.Next(); err != nil {
			return "", err
		}
		if e == nil {
			return "", io.ErrUnexpectedEOF
		}
	}
}

// row is what a function's own code takes, what it calls left out.
type row struct {
	function     string
	ours         bool
	calls        int
	instructions int
	inlined      []row // of that
}

// rows puts the times that each address was carried out to functions. What is
// of unikraft/app/main.c is ours, and what was inlined there, but for the code of
// uk_netdev_tx_one, which the header uk/netdev.h has.
func (p *program) rows(at map[uint64]int) ([]row, error) {
	const api = "uk_netdev_tx_one"
	type key struct {
		function string
		ours     bool
	}
	sums := map[key]*row{}
	for pc, n := range at {
		i, found := slices.BinarySearchFunc(p.functions, pc, func(s elf.Symbol, pc uint64) int { return cmp.Compare(s.Value, pc) })
		if !found {
			i--
		}
		if i < 0 || pc >= p.functions[i].Value+p.functions[i].Size {
			return nil, fmt.Errorf("the address %#x is no function's", pc)
		}
		names, err := p.inlined(pc)
		if err != nil {
			return nil, err
		}
		k := key{p.functions[i].Name, strings.HasSuffix(p.file(pc), "/unikraft/app/main.c")}
		if k.ours && slices.Contains(names, api) {
			k = key{api + " (inlined in " + k.function + ")", false}
			names = nil
		}
		r := sums[k]
		if r == nil {
			r = &row{function: k.function, ours: k.ours}
			sums[k] = r
		}
		r.instructions += n
		if pc == p.functions[i].Value {
			r.calls += n
		}
		if len(names) > 0 {
			inner := names[len(names)-1]
			j := slices.IndexFunc(r.inlined, func(r row) bool { return r.function == inner })
			if j < 0 {
				j = len(r.inlined)
				r.inlined = append(r.inlined, row{function: inner})
			}
			r.inlined[j].instructions += n
		}
	}
	most := func(a, b row) int {
		return cmp.Or(cmp.Compare(b.instructions, a.instructions), strings.Compare(a.function, b.function))
	}
	var rows []row
	for _, r := range sums {
		slices.SortFunc(r.inlined, most)
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, most)
	return rows, nil
}
