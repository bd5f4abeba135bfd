package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sweep/internal/testbed"
)

const cpuDir = "/sys/devices/system/cpu/"

// list is a list of CPUs of the kernel's; nothing where it is none.
func list(text string) []int {
	cpus, err := testbed.ParseCPUs(text)
	if err != nil {
		return nil
	}
	return cpus
}

func commas(cpus []int) string {
	words := make([]string, len(cpus))
	for i, c := range cpus {
		words[i] = strconv.Itoa(c)
	}
	return strings.Join(words, ",")
}

func cpuWords(cpus []int) string {
	if len(cpus) == 1 {
		return fmt.Sprintf("CPU %d", cpus[0])
	}
	return "CPUs " + commas(cpus)
}

func isAre(cpus []int) string {
	if len(cpus) == 1 {
		return "is"
	}
	return "are"
}

// kvm looks at the device, and at whether a guest really boots with it.
func kvm(e *examination) {
	if !e.m.guests() {
		return
	}
	const why = "guests then run in an emulator, and their rate is the emulator's"
	switch errno := e.f.Errno["/dev/kvm"]; {
	case errno == int(syscall.EACCES), errno == int(syscall.EPERM):
		e.warn("kvm-permission", "/dev/kvm may not be opened", why, "sudo usermod -aG kvm $USER, then log in again")
	case e.f.KVM != "":
		e.warn("kvm-boot", e.f.KVM, why, "run on the machine itself, not on a virtual one; or update its kernel and its hypervisor")
	case !e.f.Names["/dev/kvm"]:
		mend := "turn on virtualisation in the firmware's set-up, then: sudo modprobe kvm_intel (or kvm_amd)"
		if e.virtual() {
			mend = "use a machine that is no virtual one (in a cloud a .metal instance), or one with nested virtualisation"
		}
		e.warn("kvm-absent", "there is no /dev/kvm", why, mend)
	}
}

func cpus(e *examination) {
	online := list(e.f.Text[cpuDir+"online"])
	for _, cpu := range e.m.Pollers {
		if !slices.Contains(online, cpu) {
			e.error("cpu-offline", fmt.Sprintf("CPU %d, which the experiment polls on, is not online (%s are)", cpu, e.f.Text[cpuDir+"online"]), "nothing can run there",
				fmt.Sprintf("echo 1 | sudo tee %scpu%d/online, or choose another in the testbed's file", cpuDir, cpu))
			return
		}
	}
	if e.m.Share == "cpu" {
		e.warn("cpus-few", fmt.Sprintf("pollers share a CPU, because there are %d", len(online)), "each of them wants a whole one, so the rate is the scheduler's", "use a machine with four cores or more")
		return
	}
	node, ok := e.number(devices + e.m.NIC + "/numa_node")
	if near := list(e.f.Text[fmt.Sprintf("/sys/devices/system/node/node%d/cpulist", node)]); ok && node >= 0 && len(near) > 0 {
		var far []int
		for _, cpu := range e.m.Pollers {
			if !slices.Contains(near, cpu) {
				far = append(far, cpu)
			}
		}
		if len(far) > 0 {
			e.warn("cpu-node", fmt.Sprintf("%s that the experiment polls on %s not on NUMA node %d, which has the NIC", cpuWords(far), isAre(far), node),
				"each frame then crosses between the processors", "choose of "+e.f.Text[fmt.Sprintf("/sys/devices/system/node/node%d/cpulist", node)]+" in the testbed's file")
		}
	}
	siblings(e)
}

// siblings looks whether a poller's core has another that does something.
func siblings(e *examination) {
	for _, cpu := range e.m.Pollers {
		for _, other := range list(e.f.Text[fmt.Sprintf("%scpu%d/topology/thread_siblings_list", cpuDir, cpu)]) {
			if other == cpu {
				continue
			}
			does := ""
			if slices.Contains(e.m.Pollers, other) && other > cpu {
				does = "polls, too"
			} else if slices.Contains(e.m.House, other) {
				does = "has everything else to do"
			}
			if does != "" {
				e.warn("smt", fmt.Sprintf("CPU %d polls, and CPU %d of the same core %s", cpu, other, does), "the two threads of a core take turns: the rate depends on both",
					"choose CPUs of other cores, or turn SMT off: echo off | sudo tee "+cpuDir+"smt/control")
				return
			}
		}
	}
}

func governor(e *examination) {
	if e.m.Governor == "performance" {
		return // the run sets it
	}
	var slow []int
	name := ""
	for _, cpu := range e.m.Pollers {
		if is := e.f.Text[fmt.Sprintf("%scpu%d/cpufreq/scaling_governor", cpuDir, cpu)]; is != "" && is != "performance" {
			slow, name = append(slow, cpu), is
		}
	}
	if len(slow) == 0 {
		return
	}
	mend := "sudo cpupower -c " + commas(slow) + " frequency-set -g performance"
	if e.m.NIC != "" {
		mend = "write governor: performance into the testbed's file: the run sets it and gives it back"
	}
	e.warn("governor", fmt.Sprintf("the frequency of %s follows the load (governor %s)", cpuWords(slow), name), "the clock is then no constant, and neither is the rate", mend)
}
