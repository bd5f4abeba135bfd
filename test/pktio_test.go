//go:build real

package test

import (
	"bytes"
	"context"
	big "encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweep/internal/audit"
	"sweep/internal/pktio"
	"sweep/internal/results"
)

// pktioCommand is build/pktio, with its runtime files in a folder of the test's.
func pktioCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs("../build/pktio")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run ./test.sh, or ./prepare.sh --tests first", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "RUNTIME_DIRECTORY="+t.TempDir())
	return cmd
}

// words are the KEY=NUMBER of a line.
func words(t *testing.T, line string) map[string]uint64 {
	t.Helper()
	out := map[string]uint64{}
	for _, m := range regexp.MustCompile(`(\w+)=(\d+)`).FindAllStringSubmatch(line, -1) {
		n, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out[m[1]] = n
	}
	return out
}

// said are the lines of a text that hold a word, in order.
func said(text, word string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			out = append(out, line)
		}
	}
	return out
}

// writePcap writes frames as DPDK's net_pcap and tcpdump read them (the format of
// pcap-savefile(5)), readPcap reads them.
func writePcap(t *testing.T, path string, frames [][]byte) {
	t.Helper()
	var b bytes.Buffer
	for _, v := range []any{uint32(0xa1b2c3d4), uint16(2), uint16(4), uint64(0), uint32(65535), uint32(1)} {
		big.Write(&b, big.LittleEndian, v)
	}
	for _, f := range frames {
		big.Write(&b, big.LittleEndian, [4]uint32{0, 0, uint32(len(f)), uint32(len(f))})
		b.Write(f)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readPcap(t *testing.T, path string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil || len(b) < 24 {
		t.Fatalf("%s: %d bytes, %v", path, len(b), err)
	}
	var frames [][]byte
	for b = b[24:]; len(b) >= 16; {
		n := int(big.LittleEndian.Uint32(b[8:]))
		if len(b) < 16+n {
			t.Fatalf("%s is cut", path)
		}
		frames = append(frames, b[16:16+n])
		b = b[16+n:]
	}
	return frames
}

// So many frames, byte by byte, of the shortest, the longest and others; and none.
func TestPktioFrames(t *testing.T) {
	for _, size := range []int{42, 43, 60, 64, 1500, 1513, 1514} {
		file := filepath.Join(t.TempDir(), "out.pcap")
		cmd := pktioCommand(t, "send", "--vdev", "net_pcap0,tx_pcap="+file, "--size", strconv.Itoa(size), "--count", "1000", "--to", "02:00:00:00:00:07")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if stopped := words(t, said(string(out), "stopped")[0]); stopped["packets"] != 1000 {
			t.Errorf("%d B: it says that it sent %d", size, stopped["packets"])
		}
		frames := readPcap(t, file)
		if len(frames) != 1000 {
			t.Errorf("%d B: %d frames left", size, len(frames))
		}
		for _, f := range frames {
			// The driver's address is its own choice.
			if want := pktio.Frame(size, f[6:12], net.HardwareAddr{2, 0, 0, 0, 0, 7}); !bytes.Equal(f, want) {
				t.Fatalf("%d B: sent %x\nwant %x", size, f, want)
			}
		}
	}
}

// A ring that nobody empties: as many are handed over as it holds, the rest is
// offered again and again, and it ends all the same: when it is told, by its
// terminal's end, by a signal.
func TestPktioRingFull(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd, io.Closer){
		"SIGTERM":        func(c *exec.Cmd, _ io.Closer) { c.Process.Signal(syscall.SIGTERM) },
		"SIGHUP":         func(c *exec.Cmd, _ io.Closer) { c.Process.Signal(syscall.SIGHUP) },
		"standard input": func(_ *exec.Cmd, in io.Closer) { in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := pktioCommand(t, "send", "--vdev", "net_ring0", "--rate", "1000000")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out lockedBuffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(in, "send 64")
			for until := time.Now().Add(20 * time.Second); !strings.Contains(out.String(), "second") && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond)
			}
			asked := time.Now()
			end(cmd, in)
			if err := cmd.Wait(); err != nil || time.Since(asked) > 5*time.Second {
				t.Errorf("%v, %v after it was told", err, time.Since(asked))
			}
			stopped := said(out.String(), "stopped")
			if len(stopped) != 1 {
				t.Fatalf("it said\n%s", &out)
			}
			// DPDK's rings hold one less than their length.
			if n := words(t, stopped[0]); n["packets"] != 1023 || n["full"] == 0 || n["errors"] != 0 {
				t.Errorf("it stopped with %s", stopped[0])
			}
		})
	}
}

// A port that can't be made, and a peer that never comes, are said in one line.
func TestPktioSaysWhy(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"send", "--vdev", "net_nosuch0"}, 1, "sweep-guest: error DPDK did not start: No such device"},
		{[]string{"send", "--vdev", "net_virtio_user0,path=" + dir + "/nobody"}, 1, "sweep-guest: error "},
		{[]string{"send", "--vdev", "net_memif0,role=server,socket=" + dir + "/m,socket-abstract=no", "--size", "64", "--count", "1"}, 1, "the port has had no peer for 10s"},
		{[]string{"relay", "--vdev", "net_memif0,role=client,socket=" + dir + "/nobody,socket-abstract=no", "--vdev", "net_null0"}, 1, "pktio-relay: error open port 0"},
		{[]string{"relay", "--vdev", "net_null0", "--fault", "drop"}, 2, "--vdev is needed 2 times"},
	} {
		out, err := pktioCommand(t, tt.args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != tt.code || !strings.Contains(string(out), tt.want) {
			t.Errorf("pktio %v: %v, it said\n%s\nwant exit code %d and %q", tt.args, err, out, tt.code, tt.want)
		}
	}
}

// relayFile has the relay pass on a file of frames, and returns what came out and
// the relay's last word.
func relayFile(t *testing.T, fault string, frames [][]byte) (out [][]byte, last map[string]uint64) {
	t.Helper()
	// A test's own folder is named after it, and DPDK takes a "=" in a path for
	// another argument.
	dir, err := os.MkdirTemp("", "relay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	from, to := filepath.Join(dir, "in.pcap"), filepath.Join(dir, "out.pcap")
	writePcap(t, from, frames)
	cmd := pktioCommand(t, "relay", "--vdev", "net_pcap0,rx_pcap="+from, "--vdev", "net_pcap1,tx_pcap="+to, "--fault", fault)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var text lockedBuffer
	cmd.Stdout = &text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Until all have come in, and none waits any more.
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		fmt.Fprintln(in, "stats")
		stats := said(text.String(), "stats received=")
		if len(stats) == 0 {
			continue
		}
		if n := words(t, stats[len(stats)-1]); n["received"] == uint64(len(frames)) && n["waiting"] == 0 {
			break
		}
	}
	fmt.Fprintln(in, "quit")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	lines := said(text.String(), "stopped")
	if len(lines) != 1 {
		t.Fatalf("it said\n%s", &text)
	}
	return readPcap(t, to), words(t, lines[0])
}

// numbered are frames of a size, each with its number in its payload.
func numbered(n, size int) [][]byte {
	frames := make([][]byte, n)
	for i := range frames {
		f := pktio.Frame(size, net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 0})
		big.BigEndian.PutUint32(f[42:], uint32(i+1))
		frames[i] = f
	}
	return frames
}

// What the relay does to each of 10500 frames, in what order, and what it counts.
func TestRelayFaults(t *testing.T) {
	const n = 10_500
	address := net.HardwareAddr{2, 0, 0, 0, 0, 0x99}
	for _, tt := range []struct {
		fault string
		size  int
		want  func(number int, f []byte) []byte // nil: it is dropped
		count map[string]uint64                 // beside received and sent
	}{
		{"none", 46, func(_ int, f []byte) []byte { return f }, nil},
		{"none", 1514, func(_ int, f []byte) []byte { return f }, nil},
		{"drop=1000", 64, func(i int, f []byte) []byte {
			if i%1000 == 0 {
				return nil
			}
			return f
		}, map[string]uint64{"dropped": 10}},
		{"drop=1", 64, func(int, []byte) []byte { return nil }, map[string]uint64{"dropped": n}},
		{"short=4", 64, func(_ int, f []byte) []byte { return f[:60] }, map[string]uint64{"shortened": n}},
		{"short=18/100", 64, func(i int, f []byte) []byte {
			if i%100 == 0 {
				return f[:46]
			}
			return f
		}, map[string]uint64{"shortened": 105}},
		// Not even a header would be left: passed as they are, and counted.
		{"short=51", 64, func(_ int, f []byte) []byte { return f }, map[string]uint64{"too_short": n}},
		{"delay=20ms", 64, func(_ int, f []byte) []byte { return f }, nil},
		{"address=02:00:00:00:00:99", 64, func(_ int, f []byte) []byte {
			return slices.Concat(address, f[6:])
		}, map[string]uint64{"readdressed": n}},
		{"hold", 64, func(int, []byte) []byte { return nil }, map[string]uint64{"dropped": n}},
		{"pause=200ms,drop=3,short=4", 64, func(i int, f []byte) []byte {
			if i%3 == 0 {
				return nil
			}
			return f[:60]
		}, map[string]uint64{"dropped": n / 3, "shortened": n - n/3}},
	} {
		t.Run(fmt.Sprintf("%s of %d B", tt.fault, tt.size), func(t *testing.T) {
			in := numbered(n, tt.size)
			out, last := relayFile(t, tt.fault, in)
			var want [][]byte
			for i, f := range in {
				if w := tt.want(i+1, f); w != nil {
					want = append(want, w)
				}
			}
			if len(out) != len(want) {
				t.Fatalf("%d frames came out; want %d", len(out), len(want))
			}
			for i := range want {
				if !bytes.Equal(out[i], want[i]) {
					t.Fatalf("frame %d that came out is %s; want %s", i, hex.EncodeToString(out[i]), hex.EncodeToString(want[i]))
				}
			}
			for _, key := range []string{"received", "sent", "dropped", "shortened", "too_short", "readdressed", "waiting"} {
				w := tt.count[key]
				switch key {
				case "received":
					w = n
				case "sent":
					w = uint64(len(want))
				}
				if last[key] != w {
					t.Errorf("%s is %d; want %d", key, last[key], w)
				}
			}
		})
	}
	if out, last := relayFile(t, "drop=7", nil); len(out) != 0 || last["received"] != 0 || last["sent"] != 0 {
		t.Errorf("of no frame %d came out, and it counted %v", len(out), last)
	}
}

// truth is by how much a measured rate may differ from one that is known.
const truth = 0.001

// What is known is measured: by the sender's own count and clock, which are exact,
// and as it was asked for.
//
// Of the measured window that is known only where all that was sent arrived, and
// where the sender was never so late that the window's frames could be others than
// the rate's: on a machine that is busy with something else it may be different.
// So there are some tries, and one that finds something else must have a reason.
func TestKnownTruth(t *testing.T) {
	const tries = 5
	const window = 5 // seconds
	rates := []float64{20_000, 50_000, 100_000}
	if os.Getenv("SWEEP_SOAK") == "" {
		rates = rates[1:2]
	}
	for _, rate := range rates {
		for _, size := range []int{64, 1500} {
			t.Run(fmt.Sprintf("%.0f a second of %d B", rate, size), func(t *testing.T) {
				for range tries {
					k := newKit(t)
					stdout, stderr, code := k.run("--systems", "paced/vhost-user", "--pace", fmt.Sprintf("%.0f", rate),
						"--sizes", strconv.Itoa(size), "--duration", fmt.Sprintf("%ds", window), "--results", "r")
					if code > 1 {
						t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
					}
					trials := k.load("r")
					if len(trials) != 1 {
						t.Fatalf("%d trials", len(trials))
					}
					k.nothingLeft()
					trial := trials[0]
					if trial.Error != "" {
						t.Logf("void, and the audit says why: %s", trial.Error)
						continue
					}
					k.checkTrials("r")
					k.replays("r")
					own, l := k.stopped("r", trial), trial.Ledger
					if l.GuestSent != own["packets"] || l.Residual().Wire != 0 || l.Residual().Attachment != 0 {
						t.Errorf("ledger %+v, %+v; the sender sent %d", *l, l.Residual(), own["packets"])
					}
					mean := float64(own["packets"]) / (float64(own["ns"]) / 1e9)
					t.Logf("asked %.0f, sent %.2f, measured %.2f (late %d times, at most %d frames)", rate, mean, trial.RxPps, own["late"], own["behind"])
					if off := mean/rate - 1; math.Abs(off) > truth/10 && own["skipped"] == 0 {
						t.Errorf("sent %.2f, asked were %.0f: %+.4f %%", mean, rate, 100*off)
					}
					off := math.Max(math.Abs(trial.RxPps/mean-1), math.Abs(trial.RxPps/rate-1))
					if off <= truth {
						return
					}
					if l.GuestSent == l.ClientReceived && float64(own["behind"]) < rate*window*truth/2 {
						t.Errorf("measured %.2f, sent %.2f, asked were %.0f: %.3f %% off, and nothing was lost or late", trial.RxPps, mean, rate, 100*off)
					}
				}
				t.Errorf("in %d tries what was measured never was what was sent", tries)
			})
		}
	}
}

// stopped is what the paced sender said at the end of a trial.
func (k *kit) stopped(dir string, trial results.Trial) map[string]uint64 {
	k.t.Helper()
	text := k.consoleText(dir, "guest")
	for _, line := range said(text, "stopped size="+strconv.Itoa(trial.Size)+" ") {
		if n := words(k.t, line); n["packets"] == trial.Ledger.GuestSent {
			return n
		}
	}
	k.t.Fatalf("no stopped line of %d packets in\n%s", trial.Ledger.GuestSent, text)
	return nil
}

// consoleText is what a process of a run's only boot printed.
func (k *kit) consoleText(dir, process string) string {
	k.t.Helper()
	files, _ := filepath.Glob(filepath.Join(k.dir, dir, "console", "001-*-"+process+".log"))
	if len(files) != 1 {
		k.t.Fatalf("%d consoles of the %s", len(files), process)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

// planted runs the kit with a fault at one size and returns its only trial, the
// relay's counters at the end and how many frames it had seen before the trial.
func (k *kit) planted(system, fault, size string, codes ...int) (trial results.Trial, relay map[string]uint64, before uint64) {
	k.t.Helper()
	stdout, stderr, code := k.run("--systems", system, "--sizes", size, "--duration", "2s", "--results", "r", "--fault", fault)
	if !slices.Contains(codes, code) {
		k.t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	run, trials, problems, err := results.Load(filepath.Join(k.dir, "r"))
	if err != nil || len(problems) > 0 || len(trials) != 1 || trials[0].Ledger == nil {
		k.t.Fatalf("%d trials, %v, %v\n%s", len(trials), problems, err, stderr)
	}
	if run.Plan.Fault != fault {
		k.t.Errorf("the plan in the record has the fault %q", run.Plan.Fault)
	}
	trial = trials[0]
	if !slices.ContainsFunc(trial.Findings, func(f audit.Finding) bool {
		return f.Kind == audit.Caveat && !f.Void && (strings.HasSuffix(f.Text, "planted: "+fault) || fault == "none" && strings.Contains(f.Text, "relay"))
	}) {
		k.t.Errorf("no caveat says that the fault was planted: %+v", trial.Findings)
	}
	last := said(k.consoleText("r", "relay"), "stopped ")
	if len(last) != 1 {
		k.t.Fatalf("the relay said %q", last)
	}
	relay = words(k.t, last[0])
	k.t.Logf("%s, %s: relay %v, ledger %+v, error %q", system, fault, relay, *trial.Ledger, trial.Error)
	if relay["received"] != relay["sent"]+relay["dropped"]+relay["waiting"] {
		k.t.Errorf("the relay's counters don't add up: %v", relay)
	}
	return trial, relay, relay["received"] - trial.Ledger.ServerSent
}

func TestRelayWithoutFault(t *testing.T) {
	for _, system := range []string{"paced/vhost-user", "bare/vhost-user"} {
		k := newKit(t)
		trial, relay, _ := k.planted(system, "none", "64", 0)
		if trial.Ledger.Residual().Wire != 0 || relay["dropped"] != 0 || trial.Ledger.ClientReceived+trial.Ledger.ClientMissed != trial.Ledger.ServerSent {
			t.Errorf("%s: %+v, relay %v", system, *trial.Ledger, relay)
		}
		if trial.Error != "" || trial.RxPps <= 0 {
			t.Errorf("%s: %v packets/s, %s", system, trial.RxPps, trial.Error)
		}
		k.nothingLeft()
	}
}

// One of a thousand is gone, neither more nor less, and the ledger has it where it
// was lost.
func TestPlantedLoss(t *testing.T) {
	k := newKit(t)
	trial, relay, before := k.planted("paced/vhost-user", "drop=1000", "64", 0, 1)
	want := (before+trial.Ledger.ServerSent)/1000 - before/1000
	if got := trial.Ledger.Residual().Wire; got != int64(want) || want == 0 {
		t.Errorf("the ledger misses %d on the wire; want %d", got, want)
	}
	if relay["dropped"] != relay["received"]/1000 {
		t.Errorf("the relay dropped %d of %d", relay["dropped"], relay["received"])
	}
	k.found(audit.Lost, true, "lost between forwarder and client, 1 in ", "without a counter")
}

func TestPlantedShortFrames(t *testing.T) {
	k := newKit(t)
	trial, relay, _ := k.planted("paced/vhost-user", "short=4", "64", 0, 1)
	l := trial.Ledger
	if l.ClientReceived == 0 || l.ClientBytes != 60*l.ClientReceived || relay["shortened"] != relay["received"] || l.Residual().Wire != 0 {
		t.Errorf("%d packets of %d B arrived; relay %v", l.ClientReceived, l.ClientBytes, relay)
	}
	k.found(audit.WrongSize, true, "frames of 60 B arrived, not of 64: 4 bytes short")
}

// From a moment on nothing arrives any more.
func TestPlantedHold(t *testing.T) {
	k := newKit(t)
	trial, relay, _ := k.planted("paced/vhost-user", "hold@1s", "64", 1)
	if l := trial.Ledger; l.Residual().Wire != int64(relay["dropped"]) || relay["dropped"] == 0 || trial.Error == "" {
		t.Errorf("%+v, relay %v, error %q", *l, relay, trial.Error)
	}
	k.found(audit.Still, true, "the client's counter did not move for", "while the forwarder sent")
}

// A relay that stands still loses nothing: what it had no time for waits in the
// wire, or was dropped where the wire had no room, and counted there.
func TestPlantedPause(t *testing.T) {
	k := newKit(t)
	trial, relay, _ := k.planted("paced/vhost-user", "pause=300ms@1s", "64", 0, 1)
	if l := trial.Ledger; l.Residual().Wire != 0 || relay["dropped"] != 0 {
		t.Errorf("%+v, relay %v", *l, relay)
	}
	if n := len(said(k.consoleText("r", "relay"), "paused for 300ms")); n != 1 {
		t.Errorf("it paused %d times", n)
	}
	k.nothingLeft()
}

// A relay that is killed in the middle voids the trial, and nothing is left.
func TestRelayKilled(t *testing.T) {
	k := newKit(t)
	s := k.start("--systems", "paced/vhost-user", "--sizes", "64", "--duration", "8s", "--results", "r", "--fault", "none")
	k.waitFor(s, "comes up")
	relay := 0
	for until := time.Now().Add(30 * time.Second); relay == 0 && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		for pid, cmd := range k.marked() {
			if strings.Contains(cmd, "pktio relay") {
				relay = pid
			}
		}
	}
	if relay == 0 {
		t.Fatal("there is no relay")
	}
	time.Sleep(4 * time.Second) // into the trial
	syscall.Kill(relay, syscall.SIGKILL)
	<-s.ended
	if code := s.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d\n%s%s", code, s.out, s.errs)
	}
	trials := k.load("r")
	if len(trials) != 1 || trials[0].Error == "" {
		t.Errorf("%d trials: %+v", len(trials), trials)
	}
	k.nothingLeft()
}
