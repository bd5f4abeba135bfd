package diagnose

import (
	"fmt"
	"strings"
)

// option is a QEMU option that is gone.
type option struct {
	name    string
	major   int // of the release without it
	minor   int
	instead string
}

func (o option) since() string { return fmt.Sprintf("%d.%d", o.major, o.minor) }

// removed are the options that scripts of the last decade use and QEMU no
// longer has (docs/about/removed-features.rst of QEMU).
func removed() []option {
	return []option{
		{"-no-acpi", 9, 0, "-machine acpi=off"},
		{"-no-hpet", 9, 0, "-machine hpet=off"},
		{"-singlestep", 9, 0, "-accel tcg,one-insn-per-tb=on"},
		{"-chroot", 9, 0, "-run-with chroot=DIR"},
		{"-async-teardown", 9, 0, "-run-with async-teardown=on"},
		{"-enable-hax", 8, 2, "-accel tcg"},
		{"-watchdog", 7, 2, "-device NAME"},
		{"-soundhw", 7, 1, "-device NAME, or -audio"},
		{"-writeconfig", 7, 1, "nothing: it had no replacement"},
		{"-no-quit", 7, 0, "-display sdl,window-close=off"},
		{"-realtime", 6, 0, "-overcommit mem-lock=on"},
		{"-show-cursor", 6, 0, "-display sdl,show-cursor=on"},
		{"-tb-size", 6, 0, "-accel tcg,tb-size=N"},
		{"-no-kvm", 5, 2, "-accel tcg"},
		{"-localtime", 3, 1, "-rtc base=localtime"},
		{"-startdate", 3, 1, "-rtc base=DATE"},
		{"-nodefconfig", 3, 1, "-no-user-config"},
		{"-rtc-td-hack", 3, 1, "-rtc driftfix=slew"},
		{"-balloon", 3, 1, "-device virtio-balloon"},
		{"-redir", 3, 1, "-netdev user,id=n0,hostfwd=..."},
		{"-tftp", 3, 1, "-netdev user,id=n0,tftp=DIR"},
		{"-bootp", 3, 1, "-netdev user,id=n0,bootp=FILE"},
		{"-smb", 3, 1, "-netdev user,id=n0,smb=DIR"},
		{"-no-kvm-irqchip", 3, 0, "-machine kernel_irqchip=off"},
		{"-no-kvm-pit-reinjection", 3, 0, "-global kvm-pit.lost_tick_policy=discard"},
		{"-no-kvm-pit", 2, 12, "-machine kernel_irqchip=split"},
		{"-tdf", 2, 12, "-global kvm-pit.lost_tick_policy=delay"},
		{"-hdachs", 2, 12, "-device ide-hd,drive=ID,cyls=C,heads=H,secs=S"},
	}
}

// RemovedOptions finds the options of a QEMU command line that a QEMU of the
// given major version (as --version prints it) doesn't have any more. Those
// that went in a minor release of that very version are found too: what
// stands instead worked before.
func RemovedOptions(argv []string, qemuMajor int) []Finding {
	var found []Finding
	for _, arg := range argv {
		// QEMU takes --option as well.
		name := "-" + strings.TrimLeft(arg, "-")
		if name == arg || "-"+name == arg {
			for _, o := range removed() {
				if o.name == name && o.major <= qemuMajor {
					found = append(found, Finding{
						Kind:  "qemu-option-removed",
						What:  fmt.Sprintf("QEMU %d has no option %s", qemuMajor, o.name),
						Why:   "it was removed in QEMU " + o.since(),
						Mend:  "use " + o.instead,
						Fatal: true,
					})
				}
			}
		}
	}
	return found
}
