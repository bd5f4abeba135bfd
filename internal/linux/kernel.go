package linux

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// modules are what the guest's kernel loads: the driver that hands the NIC to
// DPDK, and what it needs.
var modules = []string{"uio", "uio_pci_generic"}

// virtioModules are what it loads instead in the guest linux-kernel: the
// drivers, what they need in one version of the kernel or another, and the
// packet generator, which stands alone. A kernel that has one of them built in,
// or another division of them, has no such file.
var virtioModules = []string{
	"virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
	"failover", "net_failover", "dim", "virtio_net", pktgenModule,
}

const pktgenModule = "pktgen"

// kernel is the kernel's part of an image.
type kernel struct {
	about    Kernel
	packages []Package
	file     string // vmlinux, or kernel where it couldn't be unpacked
	image    []byte
	modules  []file
}

// fetchKernel gets the kernel and its modules out of the distribution's
// packages: those that the old image was made of, unless there was none or a
// newer one is asked for.
func fetchKernel(ctx context.Context, cfg BuildConfig, old Manifest) (kernel, error) {
	cache := filepath.Join(cfg.Dir, "cache")
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return kernel{}, err
	}
	var k kernel
	var debs []string
	if !cfg.Update && (cfg.Kernel == "" || cfg.Kernel == old.Kernel.Package) {
		debs, k.packages = cachedKernel(cache, old)
		k.about.Package = old.Kernel.Package
	}
	if debs == nil {
		name, parts, err := findKernel(ctx, cfg.Kernel)
		if err != nil {
			return kernel{}, err
		}
		k.about.Package, k.packages = name, nil
		for _, part := range parts {
			path, err := download(ctx, cfg, cache, part.Package)
			if err != nil {
				return kernel{}, err
			}
			debs = append(debs, path)
			k.packages = append(k.packages, part.Package)
		}
	}

	want := map[string]string{"vmlinuz": ""} // to where it was found
	for _, m := range slices.Concat(modules, virtioModules) {
		want[m+".ko"] = ""
	}
	for i, deb := range debs {
		cfg.logf("unpacking %s %s", k.packages[i].Name, k.packages[i].Version)
		if err := k.take(ctx, deb, want); err != nil {
			return kernel{}, err
		}
	}
	for name, at := range want {
		if at == "" && !slices.Contains(virtioModules, strings.TrimSuffix(name, ".ko")) {
			return kernel{}, fmt.Errorf("the packages of the kernel %s have no %s: choose another with --kernel", k.about.Package, name)
		}
	}

	order, err := virtioOrder(k.modules)
	if err != nil {
		return kernel{}, err
	}
	k.modules = append(k.modules, order)

	k.file = "vmlinux"
	unpacked, packed, err := UnpackKernel(ctx, k.image)
	if err != nil {
		// It boots packed as well, only later.
		cfg.logf("the kernel stays packed: %v", err)
		k.file = "kernel"
		return k, nil
	}
	k.image, k.about.Packed = unpacked, packed
	return k, nil
}

// cachedKernel finds the packages of the old image's kernel among the
// downloaded ones; nil where one is missing or has changed.
func cachedKernel(cache string, old Manifest) (debs []string, packages []Package) {
	for _, p := range old.Packages {
		if !kernelPart.MatchString(p.Name) {
			continue
		}
		path := filepath.Join(cache, p.Name+"_"+p.Version+".deb")
		if got, err := hashFile(path); err != nil || got != p.SHA256 {
			return nil, nil
		}
		debs, packages = append(debs, path), append(packages, p)
	}
	return debs, packages
}

// take reads the wanted files out of a package, and notes where they were.
func (k *kernel) take(ctx context.Context, deb string, want map[string]string) error {
	return readDeb(ctx, deb, func(name string, content io.Reader) error {
		if release, ok := strings.CutPrefix(name, "boot/vmlinuz-"); ok {
			image, err := io.ReadAll(content)
			k.image, k.about.Release, want["vmlinuz"] = image, release, name
			return err
		}
		base, ext := path.Base(name), ""
		for _, p := range packers {
			if b, ok := strings.CutSuffix(base, p.ext); ok {
				base, ext = b, p.ext
			}
		}
		if _, ok := want[base]; !ok || base == "vmlinuz" {
			return nil
		}
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if data, err = unpackModule(ctx, data, ext); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		want[base] = name
		k.modules = append(k.modules, file{name: "modules/" + base, mode: 0o644, data: data})
		return nil
	})
}

// virtioOrder is the file that tells the init script in which order to load the
// drivers: each after those that it needs, which differs between kernels. The
// packages don't say it; installing them would.
func virtioOrder(modules []file) (file, error) {
	have := map[string][]byte{}
	for _, m := range modules {
		name := strings.TrimSuffix(path.Base(m.name), ".ko")
		if slices.Contains(virtioModules, name) && name != pktgenModule {
			have[name] = m.data
		}
	}
	var order []string
	var add func(name string) error
	add = func(name string) error {
		data, ok := have[name]
		if !ok {
			return nil // built in
		}
		delete(have, name)
		needs, err := moduleNeeds(data)
		if err != nil {
			return fmt.Errorf("the module %s: %w", name, err)
		}
		for _, n := range needs {
			if err := add(n); err != nil {
				return err
			}
		}
		order = append(order, name)
		return nil
	}
	for _, name := range virtioModules {
		if err := add(name); err != nil {
			return file{}, err
		}
	}
	return file{name: "etc/virtio-modules", mode: 0o644, data: []byte(strings.Join(order, " ") + "\n")}, nil
}

// moduleNeeds lists the modules that a module needs to be loaded before it.
func moduleNeeds(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("it has no section .modinfo")
	}
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(string(data), "\x00") {
		if list, ok := strings.CutPrefix(entry, "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}

// unpackModule unpacks a module by its file name's ending.
func unpackModule(ctx context.Context, data []byte, ext string) ([]byte, error) {
	for _, p := range packers {
		if p.ext == ext {
			return p.unpack(ctx, data)
		}
	}
	return data, nil
}

// packer is a way that kernels and modules are packed.
type packer struct {
	name  string
	ext   string   // of a packed module
	magic string   // what packed data starts with
	tool  []string // unpacks its standard input; none: this program does
	// sized says that the kernel's build adds the unpacked size to the end, 4
	// bytes that the tool would stumble on (scripts/Makefile.lib,
	// size_append). gzip has it there by itself.
	sized bool
}

var packers = []packer{
	{name: "lz4", ext: ".lz4", magic: "\x02\x21\x4c\x18", tool: []string{"lz4", "-d", "-c"}, sized: true}, // the legacy frame
	{name: "xz", ext: ".xz", magic: "\xfd7zXZ\x00", tool: []string{"xz", "-d", "-c"}, sized: true},
	{name: "zstd", ext: ".zst", magic: "\x28\xb5\x2f\xfd", tool: []string{"zstd", "-d", "-q", "-c"}, sized: true},
	{name: "gzip", ext: ".gz", magic: "\x1f\x8b\x08"},
}

func (p packer) unpack(ctx context.Context, data []byte) ([]byte, error) {
	if p.tool == nil {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(z)
	}
	cmd := exec.CommandContext(ctx, p.tool[0], p.tool[1:]...)
	cmd.Stdin = bytes.NewReader(data)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%w: install it, or run ./prepare.sh", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.tool[0], err, trimmed(stderr.Bytes()))
	}
	return out, nil
}

// The fields of a bzImage's setup header that lead to the kernel in it: the
// Linux kernel's Documentation/x86/boot.rst, "The Real-Mode Kernel Header".
const (
	offSetupSects    = 0x1f1 // u8: sectors of set-up code after the boot sector
	offMagic         = 0x202 // "HdrS"
	offVersion       = 0x206 // u16: of the boot protocol
	offPayload       = 0x248 // u32: where the packed kernel starts, after the set-up code
	offPayloadLength = 0x24c // u32
	minProtocol      = 0x208 // the first version with the two above
	sector           = 512
)

// UnpackKernel takes the ELF kernel, vmlinux, out of a bzImage. QEMU boots it
// by its PVH entry, and under TCG that saves the time the kernel would take to
// unpack itself in emulated instructions.
func UnpackKernel(ctx context.Context, image []byte) (vmlinux []byte, packed string, err error) {
	payload, err := findPayload(image)
	if err != nil {
		return nil, "", err
	}
	for _, p := range packers {
		if !bytes.HasPrefix(payload, []byte(p.magic)) {
			continue
		}
		size := binary.LittleEndian.Uint32(payload[len(payload)-4:])
		if p.sized {
			payload = payload[:len(payload)-4]
		}
		out, err := p.unpack(ctx, payload)
		if err != nil {
			return nil, "", err
		}
		if uint32(len(out)) != size {
			return nil, "", fmt.Errorf("unpacked with %s it has %d bytes, its end says %d", p.name, len(out), size)
		}
		if err := checkPVH(out); err != nil {
			return nil, "", err
		}
		return out, p.name, nil
	}
	return nil, "", fmt.Errorf("it is packed in a way that isn't known here (it starts with % x)", payload[:4])
}

func findPayload(image []byte) ([]byte, error) {
	if len(image) < offPayloadLength+4 || string(image[offMagic:offMagic+4]) != "HdrS" {
		return nil, errors.New("it is no bzImage")
	}
	if v := binary.LittleEndian.Uint16(image[offVersion:]); v < minProtocol {
		return nil, fmt.Errorf("its boot protocol %d.%02d doesn't say where the packed kernel is", v>>8, v&0xff)
	}
	sects := int(image[offSetupSects])
	if sects == 0 {
		sects = 4 // says the protocol
	}
	start := uint64(sects+1)*sector + uint64(binary.LittleEndian.Uint32(image[offPayload:]))
	length := uint64(binary.LittleEndian.Uint32(image[offPayloadLength:]))
	if length < 8 || start+length > uint64(len(image)) {
		return nil, fmt.Errorf("it is cut short: %d bytes, the packed kernel ends at %d", len(image), start+length)
	}
	return image[start : start+length], nil
}

// checkPVH makes sure that QEMU will boot an ELF kernel: it wants the note
// that says where the PVH entry is (XEN_ELFNOTE_PHYS32_ENTRY of
// include/xen/interface/elfnote.h; CONFIG_PVH).
func checkPVH(vmlinux []byte) error {
	const phys32Entry = 18
	f, err := elf.NewFile(bytes.NewReader(vmlinux))
	if err != nil {
		return fmt.Errorf("what was packed is no ELF kernel: %w", err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil {
			return err
		}
		for len(b) >= 12 {
			namesz, descsz, typ := f.ByteOrder.Uint32(b), f.ByteOrder.Uint32(b[4:]), f.ByteOrder.Uint32(b[8:])
			size := 12 + uint64(align4(namesz)) + uint64(align4(descsz))
			if size > uint64(len(b)) {
				break
			}
			if typ == phys32Entry && strings.TrimRight(string(b[12:12+namesz]), "\x00") == "Xen" {
				return nil
			}
			b = b[size:]
		}
	}
	return errors.New("the ELF kernel has no PVH entry, which QEMU would start it at")
}

func align4(n uint32) uint32 { return (n + 3) &^ 3 }

// interpreter is the loader that a program asks for; empty where it is static.
func interpreter(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b, err := io.ReadAll(p.Open())
			return strings.TrimRight(string(b), "\x00"), err
		}
	}
	return "", nil
}
