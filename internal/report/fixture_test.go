package report

import (
	"math"
	"slices"
	"time"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/testbed"
	"sweep/internal/verdict"
	"sweep/sizes"
)

var (
	lk = plan.System{Guest: "linux-kernel", Attachment: "vhost-user"}
	ba = plan.System{Guest: "bare", Attachment: "vhost-user"}
)

// sevenBoots is a run of seven boots with all that a report can show of one, and its
// verdict, written by hand: what package verdict says of such a run is its own
// tests' matter.
func sevenBoots() Shown {
	systems := []plan.System{uk, lx, lk, ba}
	s := Shown{
		Name: "full",
		Run: results.Run{
			Kit: "v1.2.3", Command: []string{"sweep", "--full"}, Started: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC),
			Plan:  plan.Plan{Sizes: sizes.Default(), Systems: systems, Trials: 7, Duration: 5 * time.Second, Wire: "memif", Seed: 4242},
			Accel: "kvm", AccelWhy: "a virtual machine booted in 0.4 s",
			Placement: testbed.Placement{Forwarder: 1, Guest: 2, Client: 3, House: []int{0}},
			Images:    map[string]results.Image{"bare": {Kernel: "bare.elf", KernelSHA256: "c0ffee"}},
			Machine: results.Machine{
				CPU: "AMD EPYC 9354P 32-Core Processor", CPUs: 8, Kernel: "6.1.0-30-amd64", Cmdline: "root=/dev/vda1 isolcpus=1-3",
				OS: "Debian GNU/Linux 12 (bookworm)", QEMU: "QEMU emulator version 7.2.22", DPDK: "DPDK 22.11.11", MemoryKB: 32 << 20, Load: "0.01 0.02 0.00",
			},
			Skipped: []results.Skipped{{System: plan.System{Guest: "bare", Attachment: "vhost-net"}, Why: "no vhost-net here"}},
		},
		Commands: "# server\ndpdk-testpmd -l 0,1 -- -i\n# guest\nqemu-system-x86_64 -nographic\n",
	}
	s.Verdict.Family = "Holm over 11 comparisons: linux-dpdk/vhost-user with unikraft/vhost-user at 64, 128, 256, 512, 1024 B; linux-kernel/vhost-user with unikraft/vhost-user at 64, 128, 256, 512, 1024, 1500 B"
	base := map[plan.System]float64{uk: 4.2e6, lx: 5.1e6, lk: 0.19e6, ba: 9.6e6}
	boot := 0
	for round := 1; round <= 7; round++ {
		// The order within a block is not the plan's.
		for i := range systems {
			system := systems[(i+round)%len(systems)]
			boot++
			for _, size := range sizes.Default() {
				pps := math.Round(base[system] * (1 + 0.004*float64((round*3)%7-3)/3) / (1 + float64(size)/4000))
				n := uint64(pps * 5)
				t := results.Trial{
					Trial: plan.Trial{System: system, Boot: boot, Round: round, Size: size}, RxPps: pps, RxError: pps / 2000,
					Ledger: &audit.Ledger{GuestSent: n, ServerReceived: n, ServerSent: n, ClientReceived: n, ClientBytes: n * uint64(size)},
					Settings: results.Settings{Accel: "kvm", CPUModel: "host", VCPUs: 1, MemoryMiB: 256, GuestCPU: 2, Queue: 1024,
						Guest: "descriptors_a_packet=1 packets_a_call=32"},
				}
				if system == uk {
					t.Settings.Guest = "descriptors_a_packet=2 packets_a_call=1"
				}
				s.Trials = append(s.Trials, t)
			}
		}
	}
	at := func(system plan.System, size, round int) *results.Trial {
		return &s.Trials[slices.IndexFunc(s.Trials, func(t results.Trial) bool { return t.System == system && t.Size == size && t.Round == round })]
	}
	// A busy process, a trial that is void, one that was not steady.
	at(lx, 64, 2).Findings = []audit.Finding{{Kind: audit.Foreign, Text: "firefox (pid 99), a process that is none of this run's, was busy on a CPU that this run polls on"}}
	void := at(lk, 256, 4)
	void.Findings = []audit.Finding{{Kind: audit.Lost, Text: "950 packets that the guest sent never reached the forwarder", Void: true}}
	void.Error, void.RxPps = void.Findings[0].Text, 0
	void.Ledger.ServerReceived -= 950
	unsteady := at(uk, 512, 3)
	unsteady.Findings = []audit.Finding{{Kind: audit.Unsteady, Text: "the rate changed in the middle, from 3.7 to 2.1 Mpps", Void: true}}
	unsteady.Error, unsteady.RxPps = unsteady.Findings[0].Text, 0

	for _, system := range systems {
		for _, size := range sizes.Default() {
			s.Verdict.Points = append(s.Verdict.Points, fullPoint(s.Trials, system, size))
		}
	}
	for _, size := range sizes.Default() {
		s.Verdict.Comparisons = append(s.Verdict.Comparisons, fullComparisons(size)...)
	}
	return s
}

func fullPoint(trials []results.Trial, system plan.System, size int) verdict.Point {
	p := verdict.Point{System: system, Size: size, LimitedBy: verdict.Guest, Because: "44 % of bare's rate"}
	for _, t := range trials {
		switch {
		case t.System != system || t.Size != size:
		case t.Error == "":
			p.Rates = append(p.Rates, t.RxPps)
		case t.Findings[0].Kind == audit.Unsteady:
			p.Unsteady++
		}
	}
	sorted := slices.Sorted(slices.Values(p.Rates))
	p.Median = results.Median(p.Rates)
	p.Interval = &stats.Interval{Low: sorted[0], High: sorted[len(sorted)-1], Confidence: 0.95}
	switch {
	case system == ba:
		p.LimitedBy, p.Because = verdict.Forwarder, "it is bare"
	case system == lx && size == 1500:
		p.LimitedBy, p.Because = verdict.Client, "it missed 12 packets"
	case system == lk && size == 128:
		p.Interval, p.NoInterval = nil, "modes differ: no interval"
	}
	return p
}

func fullComparisons(size int) []verdict.Comparison {
	faster := verdict.Comparison{A: lx, B: uk, Size: size, Outcome: verdict.Faster, Because: "its interval lies above", Ratio: 1.214,
		Interval: &stats.Interval{Low: 1.208, High: 1.221, Confidence: 0.95}, P: 0.0021, PEquivalent: 1}
	switch size {
	case 128:
		faster.Outcome, faster.Ratio, faster.Interval, faster.P = verdict.Undecided, 1.01, &stats.Interval{Low: 0.98, High: 1.03, Confidence: 0.95}, 0.4
	case 256:
		faster.Outcome, faster.Ratio, faster.Interval, faster.P = verdict.Equivalent, 1.001, &stats.Interval{Low: 0.998, High: 1.004, Confidence: 0.95}, 0.6
	case 1500:
		faster = verdict.Comparison{A: lx, B: uk, Size: size, Outcome: verdict.NotCompared, Because: "linux-dpdk/vhost-user is limited by the client"}
	}
	return []verdict.Comparison{
		faster,
		{A: lk, B: uk, Size: size, Outcome: verdict.Slower, Because: "its interval lies below", Ratio: 0.0452,
			Interval: &stats.Interval{Low: 0.0448, High: 0.0457, Confidence: 0.95}, P: 0.0021, PEquivalent: 1},
		{A: ba, B: uk, Size: size, Outcome: verdict.NotCompared, Because: "bare is the ceiling, not a guest"},
	}
}
