package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sweep/internal/guest"
)

func TestOwnGuest(t *testing.T) {
	dir := t.TempDir()
	kernel, initrd := filepath.Join(dir, "kernel"), filepath.Join(dir, "initrd")
	for _, f := range []string{kernel, initrd} {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string][3]string{
		"mine=" + kernel:                                 {kernel, "", ""},
		"mine=" + kernel + "," + initrd:                  {kernel, initrd, ""},
		"mine=" + kernel + "," + initrd + ",a=1,2 b=3,4": {kernel, initrd, "a=1,2 b=3,4"},
		"mine=" + kernel + ",,a=b":                       {kernel, "", "a=b"},
	} {
		own, err := parseOwn(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		g, err := ownGuest(own)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		vm := g.VM()
		if own.Name != "mine" || vm.Kernel != want[0] || vm.Initrd != want[1] || vm.Append != want[2] || vm.MemoryMiB != guest.MemoryMiB || vm.VCPUs != 1 {
			t.Errorf("%s: %s, %+v", text, own.Name, vm)
		}
	}
	for text, want := range map[string]string{
		"":                                   "NAME=KERNEL",
		"mine":                               "NAME=KERNEL",
		"=" + kernel:                         "NAME=KERNEL",
		"Mine=" + kernel:                     "small letters",
		"a/b=" + kernel:                      "small letters",
		"mine=":                              "no such file",
		"mine=" + dir:                        "is no file",
		"mine=" + kernel + "," + dir + "/no": "no such file",
	} {
		own, err := parseOwn(text)
		if err == nil {
			_, err = ownGuest(own)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseOwn(%q) = %v; want %q in it", text, err, want)
		}
	}
}

// All that is wrong with the guests is said at once.
func TestCatalogSaysAll(t *testing.T) {
	f := guestFlags{
		systems: "mine/vhost-user,nosuch/vhost-user", unikraft: "/no/such/image",
		own: []string{"bare=/dev/null", "mine"}, kernelSender: "tcpreplay", memory: 1,
	}
	var wrong complaints
	f.catalog(t.TempDir(), nil, nil, &wrong)
	text := strings.Join(wrong, "\n")
	for _, want := range []string{`"mine/vhost-user" is unknown`, `"nosuch/vhost-user" is unknown`, "/no/such/image", "--guest mine", "--guest bare", `"tcpreplay"`, "--memory 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
