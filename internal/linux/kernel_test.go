package linux

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"strings"
	"testing"
)

// vmlinux is a small ELF file with the note that says where the PVH entry is.
func vmlinux(t *testing.T, note uint32) []byte {
	t.Helper()
	var notes bytes.Buffer
	for _, v := range []any{uint32(4), uint32(4), note, []byte("Xen\x00"), uint32(0x1000000)} {
		if err := binary.Write(&notes, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	const headers = 64 + 56
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	p := elf.Prog64{Type: uint32(elf.PT_NOTE), Off: headers, Filesz: uint64(notes.Len()), Memsz: uint64(notes.Len()), Align: 4}
	var out bytes.Buffer
	for _, v := range []any{h, p, notes.Bytes()} {
		if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// bzImage packs a kernel as the kernel's build does, around a payload.
func bzImage(payload []byte) []byte {
	const sects = 2
	b := make([]byte, (sects+1)*sector)
	b[offSetupSects] = sects
	copy(b[offMagic:], "HdrS")
	binary.LittleEndian.PutUint16(b[offVersion:], 0x20f)
	const before = 100 // the code that unpacks
	binary.LittleEndian.PutUint32(b[offPayload:], before)
	binary.LittleEndian.PutUint32(b[offPayloadLength:], uint32(len(payload)))
	b = append(b, make([]byte, before)...)
	b = append(b, payload...)
	return append(b, "what follows"...)
}

func TestUnpackKernel(t *testing.T) {
	kernel := vmlinux(t, 18)
	tests := []struct {
		packed string
		tool   []string
	}{
		{"gzip", nil},
		{"lz4", []string{"lz4", "-l", "-c"}}, // -l: the legacy frame, as the kernel's build does
		{"xz", []string{"xz", "--check=crc32", "-c"}},
		{"zstd", []string{"zstd", "-q", "-c"}},
	}
	for _, tt := range tests {
		t.Run(tt.packed, func(t *testing.T) {
			var payload bytes.Buffer
			if tt.tool == nil {
				z := gzip.NewWriter(&payload)
				_, _ = z.Write(kernel)
				_ = z.Close() // gzip ends with the size
			} else {
				if _, err := exec.LookPath(tt.tool[0]); err != nil {
					t.Skip(err)
				}
				cmd := exec.Command(tt.tool[0], tt.tool[1:]...)
				cmd.Stdin, cmd.Stdout = bytes.NewReader(kernel), &payload
				if err := cmd.Run(); err != nil {
					t.Fatal(err)
				}
				_ = binary.Write(&payload, binary.LittleEndian, uint32(len(kernel)))
			}
			got, packed, err := UnpackKernel(t.Context(), bzImage(payload.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if packed != tt.packed || !bytes.Equal(got, kernel) {
				t.Errorf("got %d bytes packed with %s, want %d packed with %s", len(got), packed, len(kernel), tt.packed)
			}
		})
	}
}

func TestUnpackKernelRefuses(t *testing.T) {
	gzipped := func(b []byte) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		_, _ = z.Write(b)
		_ = z.Close()
		return out.Bytes()
	}
	good := bzImage(gzipped(vmlinux(t, 18)))
	old := bytes.Clone(good)
	binary.LittleEndian.PutUint16(old[offVersion:], 0x207)
	wrongSize := gzipped(vmlinux(t, 18))
	wrongSize[len(wrongSize)-1] = 1
	tests := []struct {
		name  string
		image []byte
		want  string
	}{
		{"empty", nil, "no bzImage"},
		{"no kernel", make([]byte, 4096), "no bzImage"},
		{"old protocol", old, "protocol 2.07"},
		{"cut short", good[:len(good)-40], "cut short"},
		{"unknown packer", bzImage([]byte("LZO and so on")), "isn't known"},
		{"no ELF in it", bzImage(gzipped([]byte("not a kernel"))), "no ELF"},
		{"no PVH entry", bzImage(gzipped(vmlinux(t, 17))), "no PVH"},
		{"damaged", bzImage(wrongSize), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := UnpackKernel(t.Context(), tt.image)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestUnpackModule(t *testing.T) {
	want := []byte("a module")
	for ext, tool := range map[string][]string{
		"":     nil,
		".xz":  {"xz", "-c"},
		".zst": {"zstd", "-q", "-c"},
		".gz":  {"gzip", "-c"},
	} {
		packed := want
		if tool != nil {
			cmd := exec.Command(tool[0], tool[1:]...)
			cmd.Stdin = bytes.NewReader(want)
			out, err := cmd.Output()
			if err != nil {
				t.Logf("%s: %v", ext, err)
				continue
			}
			packed = out
		}
		got, err := unpackModule(t.Context(), packed, ext)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: got %q, %v", ext, got, err)
		}
	}
}

// module is a small ELF file with the section that says what a module needs.
func module(t *testing.T, info string) []byte {
	t.Helper()
	const names = "\x00.modinfo\x00.shstrtab\x00"
	const header, section = 64, 64
	h := elf.Header64{
		Type: uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1,
		Shoff: header, Shentsize: section, Shnum: 3, Shstrndx: 2,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	at := uint64(header + 3*section)
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: at, Size: uint64(len(info))},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: at + uint64(len(info)), Size: uint64(len(names))},
	}
	var out bytes.Buffer
	for _, v := range []any{h, sections, []byte(info), []byte(names)} {
		if err := binary.Write(&out, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestVirtioOrder(t *testing.T) {
	const other = "license=GPL\x00"
	tests := []struct {
		name  string
		needs map[string]string // of each module; "-" leaves the entry out
		want  string
	}{
		{"one way", map[string]string{"virtio": "virtio_ring", "virtio_ring": ""}, "virtio_ring virtio"},
		{"the other way", map[string]string{"virtio": "", "virtio_ring": "virtio"}, "virtio virtio_ring"},
		{"needs what isn't a file", map[string]string{"virtio_net": "virtio,net_failover", "net_failover": "failover"}, "net_failover virtio_net"},
		{"says nothing", map[string]string{"virtio_pci": "-"}, "virtio_pci"},
		{"stands alone", map[string]string{"pktgen": "", "uio": ""}, ""},
		{"in a circle", map[string]string{"virtio": "virtio_ring", "virtio_ring": "virtio"}, "virtio_ring virtio"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var files []file
			for name, needs := range tt.needs {
				info := other + "depends=" + needs + "\x00" + other
				if needs == "-" {
					info = other
				}
				files = append(files, file{name: "modules/" + name + ".ko", data: module(t, info)})
			}
			got, err := virtioOrder(files)
			if err != nil || string(got.data) != tt.want+"\n" {
				t.Errorf("got %q, %v, want %q", got.data, err, tt.want)
			}
		})
	}
	if _, err := virtioOrder([]file{{name: "modules/virtio.ko", data: []byte("no module")}}); err == nil || !strings.Contains(err.Error(), "virtio") {
		t.Errorf("error %v, want which module is damaged", err)
	}
}
