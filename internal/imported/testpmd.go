package imported

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/sample"
	"sweep/internal/testpmd"
	"sweep/sizes"
)

// Hand is what someone who ran testpmd by hand knows of the logs and the logs
// don't say.
type Hand struct {
	System plan.System // whose packets were counted
	Port   int         // that received them; AnyPort for the only one that did
	Size   int         // in bytes without FCS, where a log can't tell; 0 where nobody knows
	FCS    bool        // the port's byte counters hold the frame check sequence
}

// AnyPort is the one that received packets, where there is one.
const AnyPort = -1

// Testpmd makes a run of logs of a testpmd that received, on which `show port
// stats` was typed while packets came: of each log and size one trial, whose
// rate is the median of what testpmd printed as Rx-pps. Each log is a block of
// its own, because shows of one log are of one boot and say nothing about
// another.
//
// A first show prints rates of 0 and is no point. A show whose window covers
// something else, too, such as the traffic's beginning, counts only where a log
// has no other of its size, and is marked.
func Testpmd(logs []File, by Hand) (Imported, error) {
	var trials []results.Trial
	var wrong []error
	var said, names []string
	for i, log := range logs {
		names = append(names, filepath.Base(log.Name))
		got, words, err := readLog(log, by)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		said = append(said, words...)
		for _, t := range got {
			t.Round = i + 1
			trials = append(trials, t)
		}
	}
	if len(wrong) > 0 {
		return Imported{}, errors.Join(wrong...)
	}
	out := newRun("logs of testpmd, run by hand: "+strings.Join(names, ", "), "unknown", trials)
	out.Said, out.Logs = said, logs
	return out, nil
}

// show is an answer to `show port stats` that has a rate.
type show struct {
	block  testpmd.Block
	size   int
	pps    float64
	missed uint64 // by the port, since the show before
	note   string // why its window is not the traffic's alone
	wrong  string // why it can't be right
}

// readLog makes trials of a log, the smallest size first, and says what it left
// out.
func readLog(file File, by Hand) (trials []results.Trial, said []string, err error) {
	log := testpmd.Parse(file.Data)
	port, words, err := choosePort(log, by.Port)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	if words != "" {
		said = append(said, file.Name+": "+words)
	}
	bySize := map[int][]show{}
	for i, b := range log.Blocks {
		if b.Port != port {
			continue
		}
		s, why := readShow(log, i, by)
		if why != "" {
			said = append(said, fmt.Sprintf("%s:%d: no point: %s", file.Name, b.Line, why))
			continue
		}
		bySize[s.size] = append(bySize[s.size], s)
	}
	if len(bySize) == 0 {
		return nil, nil, fmt.Errorf("%s: no answer to `show port stats` in it makes a point:\n  %s", file.Name, strings.Join(said, "\n  "))
	}
	for _, size := range slices.Sorted(maps.Keys(bySize)) {
		t, words := joinShows(by.System, size, bySize[size])
		trials = append(trials, t)
		for _, w := range words {
			said = append(said, file.Name+w)
		}
	}
	return trials, said, nil
}

// choosePort is the port that is meant.
func choosePort(log testpmd.Log, want int) (port int, words string, err error) {
	all, received := map[int]bool{}, map[int]bool{}
	for _, b := range log.Blocks {
		all[b.Port] = true
		if b.RxPackets != nil && *b.RxPackets > 0 {
			received[b.Port] = true
		}
	}
	switch {
	case len(all) == 0:
		return 0, "", errors.New("no NIC statistics block in it, as `show port stats` prints them; `sweep parse` says what it looks like")
	case want != AnyPort && !all[want]:
		return 0, "", fmt.Errorf("it has no block of port %d, but of %s", want, ports(all))
	case want != AnyPort:
		return want, "", nil
	case len(received) == 0:
		return 0, "", fmt.Errorf("%s received no packet; what counts is what arrives", ports(all))
	case len(received) > 1:
		return 0, "", fmt.Errorf("%s received packets: say with --port which one counts", ports(received))
	}
	port = slices.Collect(maps.Keys(received))[0]
	if len(all) > 1 {
		words = fmt.Sprintf("port %d is taken, the only one that received packets of %s", port, ports(all))
	}
	return port, words, nil
}

func ports(set map[int]bool) string {
	list := slices.Sorted(maps.Keys(set))
	words := strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
	if len(list) == 1 {
		return "port " + words
	}
	return "ports " + words
}

// blockLines is the most that a block takes of a log's lines, with some that
// came between.
const blockLines = 14

// readShow reads the i-th block; why is why it is no point.
func readShow(log testpmd.Log, i int, by Hand) (s show, why string) {
	b := log.Blocks[i]
	s.block = b
	switch {
	case b.RxPps == nil:
		return s, "it has no Rx-pps: testpmd prints one since DPDK 16.07"
	case *b.RxPps == 0:
		return s, "its Rx-pps is 0, as in a port's first show, or when nothing came"
	}
	s.pps = float64(*b.RxPps)
	next := math.MaxInt
	if i+1 < len(log.Blocks) {
		next = log.Blocks[i+1].Line
	}
	for _, p := range log.Problems {
		if p.Line >= b.Line && p.Line < min(next, b.Line+blockLines) && s.wrong == "" {
			s.wrong = p.Message
		}
	}
	for _, n := range log.Notes {
		if n.Line != b.Line {
			continue
		}
		switch n.Message {
		case testpmd.NoteWindow:
			return s, n.Message
		case testpmd.NoteBegan, testpmd.NoteSize, testpmd.NoteLeft:
			if s.note == "" {
				s.note = n.Message
			}
		}
	}
	if k := log.Prior[i]; k >= 0 && b.RxMissed != nil && log.Blocks[k].RxMissed != nil {
		s.missed = *b.RxMissed - *log.Blocks[k].RxMissed
	}
	each, sure := frame(log, i)
	if by.FCS && each > 0 {
		each -= sizes.FCS
	}
	switch whole := math.Round(each); {
	case each > 0 && math.Abs(each-whole) < 0.05 && (sure || math.Abs(each-whole) < 1e-9):
		s.size = int(whole)
		if by.Size > 0 && s.size != by.Size && s.wrong == "" {
			// As package audit has it of a trial of its own.
			s.wrong = fmt.Sprintf("frames of %.2f B arrived, not of %d", each, by.Size)
			s.size = by.Size
		}
	case by.Size > 0:
		s.size = by.Size
	case each == 0:
		return s, "it counts no bytes: say the frames' size with --size"
	default:
		return s, fmt.Sprintf("its frames are of several sizes, %.2f B on average: say with --size which one was sent last", each)
	}
	return s, ""
}

// frame is the size of what came, in bytes, 0 where no byte was counted. It is
// sure where it is that of the rate's own time, and not of all that the port
// ever counted.
func frame(log testpmd.Log, i int) (each float64, sure bool) {
	if rx, _ := log.Frames(i); rx > 0 {
		return rx, true
	}
	b := log.Blocks[i]
	// Both are cut to whole numbers: with fewer packets this is no size.
	if b.RxBps != nil && *b.RxBps > 0 && *b.RxPps >= 10_000 {
		return float64(*b.RxBps) / 8 / float64(*b.RxPps), true
	}
	if b.RxPackets == nil || b.RxBytes == nil || *b.RxPackets == 0 {
		return 0, false
	}
	return float64(*b.RxBytes) / float64(*b.RxPackets), false
}

// joinShows makes a trial of a log's shows at one size. The words begin with
// their line.
func joinShows(s plan.System, size int, shows []show) (results.Trial, []string) {
	t := results.Trial{Trial: plan.Trial{System: s, Size: size}, BytesPerPacket: float64(size)}
	var words []string
	steady := slices.ContainsFunc(shows, func(s show) bool { return s.note == "" && s.wrong == "" })
	var rates []float64
	var missed uint64
	notes := []string{}
	for _, s := range shows {
		switch {
		case s.wrong != "":
			t.Error = s.wrong
			words = append(words, fmt.Sprintf(":%d: void: %s", s.block.Line, s.wrong))
			continue
		case s.note != "" && steady:
			words = append(words, fmt.Sprintf(":%d: no point: %s", s.block.Line, s.note))
			continue
		case s.note != "" && !slices.Contains(notes, s.note):
			notes = append(notes, s.note)
		}
		rates = append(rates, s.pps)
		missed += s.missed
	}
	if len(rates) == 0 {
		return t, words
	}
	t.Error = ""
	t.RxPps, t.RxError = results.Median(rates), sample.StandardError(rates)
	t.ShownPps = t.RxPps
	texts := []string{
		"imported: testpmd's own Rx-pps, over the time between two shows, which nobody wrote down",
		noLedger, noMachine,
	}
	if len(rates) == 1 {
		texts = append(texts, "imported: of one show")
	}
	texts = append(texts, notes...)
	if missed > 0 {
		texts = append(texts, fmt.Sprintf("the port missed %d packets meanwhile: the receiver was too slow, or short of buffers", missed))
	}
	t.Findings = caveats(texts...)
	return t, words
}
