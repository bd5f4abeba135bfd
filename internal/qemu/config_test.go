package qemu

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

func TestArgv(t *testing.T) {
	c := Config{
		Accel: "tcg", CPU: "max", VCPUs: 1, MemoryMiB: 256,
		Kernel: "k", Initrd: "i", Append: "console=ttyS0 quiet", Net: []string{"-netdev", "x"},
	}
	got := strings.Join(c.Argv(), " ")
	want := "qemu-system-x86_64 -name sweep-guest,debug-threads=on -nodefaults -no-user-config -display none -no-reboot" +
		" -machine pc,memory-backend=ram -accel tcg,thread=multi -cpu max -smp 1 -m 256M" +
		" -object memory-backend-memfd,id=ram,size=256M,share=on -kernel k -initrd i -append console=ttyS0 quiet" +
		" -chardev stdio,id=console,signal=off -serial chardev:console -netdev x"
	if got != want {
		t.Errorf("argv\n%s\nwant\n%s", got, want)
	}
	c.Accel, c.Initrd, c.Append = "kvm", "", ""
	if got := strings.Join(c.Argv(), " "); !strings.Contains(got, "-accel kvm -cpu") || strings.Contains(got, "-initrd") || strings.Contains(got, "-append") {
		t.Errorf("argv %s", got)
	}
}

// What Quote writes is what a shell reads.
func TestQuote(t *testing.T) {
	argv := []string{"printf", "%s\\0", "plain", "two words", "it's", `"$HOME"`, "`id`", "", "a;b&c|d", "new\nline", "-x", "é", "*?[a]", "~", "#"}
	out, err := exec.Command("sh", "-c", Quote(argv)).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if !reflect.DeepEqual(got, argv[2:]) {
		t.Errorf("a shell reads %q; want %q", got, argv[2:])
	}
	if q := Quote([]string{"qemu", "-m", "256M", "a=b,c:d/e@f"}); q != "qemu -m 256M a=b,c:d/e@f" {
		t.Errorf("Quote quotes what needs none: %s", q)
	}
}
