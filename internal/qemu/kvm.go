package qemu

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sweep/internal/agent"
	"sweep/internal/diagnose"
)

// kvmDeadline is how long a guest under KVM may take to come to its first
// program; it takes under a second where KVM works.
const kvmDeadline = 10 * time.Second

// Accel is how virtual machines run on a machine and why.
type Accel struct {
	Name string `json:"name"` // "kvm" or "tcg"
	Why  string `json:"why"`
	Boot string `json:"boot"` // the boot of the machine that this holds for
}

// ChooseAccel says whether virtual machines can run under KVM here. That
// /dev/kvm is there proves nothing: under a paravirtual KVM a kernel may stop
// or crawl. So the probe's is booted, with a deadline, and the answer is kept in
// the folder for this boot of the machine. probe is called only if that has to
// be done.
func ChooseAccel(ctx context.Context, a agent.Agent, folder string, probe func() (Config, func(console []byte) bool), transcript io.Writer) (Accel, error) {
	r, err := a.Read(ctx, "/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Accel{}, err
	}
	boot := strings.TrimSpace(string(r[0].Data))
	path := filepath.Join(folder, "accel.json")
	var known Accel
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &known) == nil && known.Boot == boot && boot != "" {
		return known, nil
	}
	accel := Accel{Name: "tcg", Boot: boot}
	accel.Why, err = tryKVM(ctx, a, probe, transcript)
	if err != nil {
		return Accel{}, err
	}
	if accel.Why == "" {
		accel.Name, accel.Why = "kvm", "a guest boots with it"
	}
	b, err := json.Marshal(accel)
	if err != nil {
		return Accel{}, err
	}
	// Where the folder can't be written, the next run finds out again.
	_ = os.WriteFile(path, append(b, '\n'), 0o644)
	return accel, nil
}

// tryKVM returns why KVM can't be used, "" where it can.
func tryKVM(ctx context.Context, a agent.Agent, probe func() (Config, func([]byte) bool), transcript io.Writer) (why string, err error) {
	// The device can't be read, but its opening shows what is wrong.
	r, err := a.Read(ctx, "/dev/kvm")
	if err != nil {
		return "", err
	}
	// EINVAL is the device's own word on being read: it was opened.
	if e := r[0].Errno; e != 0 && e != syscall.EINVAL {
		return diagnose.KVM(e).String(), nil
	}
	c, booted := probe()
	c.Accel, c.CPU = "kvm", CPUModel("kvm")
	vm, err := Start(ctx, a, agent.Spec{Name: "kvm-probe", Argv: c.Argv()}, transcript)
	if err != nil {
		return "", err
	}
	wait, cancel := context.WithTimeout(ctx, kvmDeadline)
	defer cancel()
	_, err = vm.Wait(wait, 0, "the first program under KVM", booted)
	if e := vm.End(context.WithoutCancel(ctx)); e != nil {
		return "", e
	}
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case vm.Ended():
		return "/dev/kvm is there, but QEMU ended when it tried to boot a guest with it" + because(vm.Text(0)), nil
	default:
		return fmt.Sprintf("/dev/kvm is there, but a guest did not come to its first program within %v", kvmDeadline), nil
	}
}

// because is what a console says of why its program ended, where that is known.
func because(text []byte) string {
	for _, f := range diagnose.Explain(text) {
		if f.Fatal {
			return ": " + f.What + ", for " + f.Why
		}
	}
	return ""
}

// CPUModel is QEMU's name of the CPU that guests see: all that the accelerator
// can give.
func CPUModel(accel string) string {
	if accel == "kvm" {
		return "host"
	}
	return "max"
}
