package testpmd

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"sweep/internal/agent"
	"sweep/internal/agent/agenttest"
	"sweep/internal/console"
)

// talk attaches to a scripted testpmd: the pieces that it prints to a command,
// its echo and its prompt among them.
func talk(t *testing.T, script map[string][]string) (*Session, *agenttest.Process) {
	t.Helper()
	p := agenttest.NewProcess(func(p *agenttest.Process, line string) {
		for _, piece := range script[line] {
			p.Print(piece)
		}
	})
	t.Cleanup(func() { p.End(agent.Exit{}) })
	p.Print("EAL: Detected CPU lcores: 2\r\ntestpmd> ")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	s, err := Attach(ctx, console.New("server", p, io.Discard), 0)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

func TestDo(t *testing.T) {
	s, _ := talk(t, map[string][]string{
		"show port info 0": {"show ", "port info 0\r\r\n", "*** Infos for port 0 ***\r\n", "testpmd> "},
	})
	r, err := s.Do(context.Background(), "show port info 0")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(r.Text), "Infos for port 0") {
		t.Errorf("reply %q", r.Text)
	}
	// The greeting came at 1 ms: the first byte of the echo at 2, the last of
	// the prompt at 5.
	if r.Before != 2e6 || r.After != 5e6 {
		t.Errorf("between %d and %d ns; want 2000000 and 5000000", r.Before, r.After)
	}
}

// testpmd writes its prompt a character at a time, so an event can come between
// any two: an empty line asks for another prompt.
func TestAnEventSplitsThePrompt(t *testing.T) {
	s, p := talk(t, map[string][]string{
		"start": {"star\r\nPort 0: link state change event\r\nt\r\r\n", "mac packet forwarding - ports=2 - cores=1 - streams=2\r\n", "test\r\nPort 1: link state change event\r\npmd> "},
		"":      {"\r\r\ntestpmd> "},
	})
	if _, err := s.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := p.Typed(); got != "start\n\n" {
		t.Errorf("typed %q", got)
	}
}

func TestRefusals(t *testing.T) {
	s, _ := talk(t, map[string][]string{
		"set txpkts 10":  {"set txpkts 10\r\r\ntotal packet length=10 < 42 - give up\r\ntestpmd> "},
		"port stop all":  {"port stop all\r\r\nStopping ports...\r\nPlease remove port 0 from forwarding configuration.\r\nDone\r\ntestpmd> "},
		"start":          {"start\r\r\ntestpmd> "},
		"set fwd udp":    {"set fwd udp\r\r\ntestpmd> "},
		"show port sats": {"show port sats\r\r\nBad arguments\r\ntestpmd> "},
	})
	ctx := context.Background()
	do := func(command string) error { _, err := s.Do(ctx, command); return err }
	_, start := s.Start(ctx)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{do("set txpkts 10"), `testpmd refused "set txpkts 10": total packet length=10 < 42 - give up`},
		{do("port stop all"), `testpmd refused "port stop all": Please remove port 0 from forwarding configuration.`},
		{do("show port sats"), `testpmd refused "show port sats": Bad arguments`},
		{start, `testpmd refused "start": no forwarding banner came`},
		{s.SetMode(ctx, "udp"), `testpmd refused "set fwd udp": the mode was not set`},
	} {
		var refused *Refused
		if !errors.As(tt.err, &refused) || tt.err.Error() != tt.want {
			t.Errorf("%v; want %s", tt.err, tt.want)
		}
	}
}

func TestStartTellsTheLength(t *testing.T) {
	s, _ := talk(t, map[string][]string{
		"start": {"start\r\r\ntxonly packet forwarding - ports=1 - cores=1\r\n\r\n  txonly packet forwarding packets/burst=32\r\n  packet len=1500 - nb packet segments=1\r\ntestpmd> "},
	})
	if length, err := s.Start(context.Background()); err != nil || length != 1500 {
		t.Errorf("Start = %d, %v; want 1500", length, err)
	}
}

func TestReadStatsTriesAgain(t *testing.T) {
	const block = "  ######################## NIC statistics for port 0  ########################\r\n" +
		"  RX-packets: 23040      RX-missed: 1          RX-bytes:  2949120\r\n  RX-errors: 2\r\n  RX-nombuf:  3         \r\n" +
		"  TX-packets: 0          TX-errors: 0          TX-bytes:  0\r\n\r\n  Throughput (since last show)\r\n" +
		"  Rx-pps:        31284          Rx-bps:     32034896\r\n  Tx-pps:            0          Tx-bps:            0\r\n" +
		"  ############################################################################\r\n"
	times := 0
	p := agenttest.NewProcess(nil)
	p.Answer = func(p *agenttest.Process, line string) {
		times++
		p.Print(line + "\r\r\n")
		if times == 1 {
			p.Print(block[:100] + "\r\nPort 0: link state change event\r\n")
		} else {
			p.Print(block)
		}
		p.Print("testpmd> ")
	}
	p.Print("testpmd> ")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := Attach(ctx, console.New("client", p, io.Discard), 0)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := s.ReadStats(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if times != 2 || *b.RxPackets != 23040 || *b.RxBytes != 2949120 || *b.RxMissed != 1 || *b.RxErrors != 2 || *b.RxNombuf != 3 || *b.RxPps != 31284 {
		t.Errorf("after %d times: %+v", times, b)
	}
	if _, _, err := s.ReadStats(ctx, 1); err == nil || !strings.Contains(err.Error(), "no statistics of port 1") {
		t.Errorf("another port: %v", err)
	}
}

func TestSpec(t *testing.T) {
	c := Config{
		Name: "server", MemoryMiB: 256, Mbufs: 16384, Descriptors: 512, Burst: 64, Forward: "rxonly",
		Ports: []Device{{Name: "net_vhost0", Args: []Arg{{"iface", "/d/s"}, {"queues", "1"}}}, {Name: "net_null0"}},
	}
	spec := c.Spec(Host{Wrap: []string{"nsenter", "--net"}, Dir: "/d", Main: []int{0, 2}, Worker: []int{1}, Slice: time.Millisecond})
	want := "nsenter --net dpdk-testpmd --lcores 0@(0,2),1@1 --no-huge -m 256 --no-pci --no-shconf --file-prefix sweep-server" +
		" --vdev net_vhost0,iface=/d/s,queues=1 --vdev net_null0 -- --interactive --disable-link-check --nb-cores=1" +
		" --total-num-mbufs=16384 --burst=64 --rxd=512 --txd=512 --forward-mode=rxonly"
	if got := strings.Join(spec.Argv, " "); got != want {
		t.Errorf("argv\n%s\nwant\n%s", got, want)
	}
	if spec.Name != "server" || spec.Slice != time.Millisecond || spec.Env[0] != "RUNTIME_DIRECTORY=/d" {
		t.Errorf("spec %+v", spec)
	}
	if got := c.telemetrySocket(Host{Dir: "/d"}); got != "/d/dpdk/sweep-server/dpdk_telemetry.v2" {
		t.Errorf("telemetry socket %s", got)
	}
	if got := c.Spec(Host{}).Argv[2]; got != "0,1" {
		t.Errorf("lcores that nothing pins: %s", got)
	}
}
