package testpmd

// direction is the half of a block that is about what was received, or sent.
type direction int

const (
	rxWay direction = iota
	txWay
)

func (d direction) String() string { return [...]string{"RX", "TX"}[d] }

// rate is how testpmd spells the direction of a rate.
func (d direction) rate() string { return [...]string{"Rx", "Tx"}[d] }

func (d direction) packets(b *Block) *uint64 { return *b.field([...]label{rxPackets, txPackets}[d]) }
func (d direction) bytes(b *Block) *uint64   { return *b.field([...]label{rxBytes, txBytes}[d]) }
func (d direction) pps(b *Block) *uint64     { return *b.field([...]label{rxPps, txPps}[d]) }
func (d direction) bps(b *Block) *uint64     { return *b.field([...]label{rxBps, txBps}[d]) }

func (d direction) ppsLabel() label { return [...]label{rxPps, txPps}[d] }
func (d direction) bpsLabel() label { return [...]label{rxBps, txBps}[d] }

const (
	// The shortest and the longest frame, in bytes: an Ethernet header, and
	// what segmentation offload hands over at once.
	shortest, longest = 14, 65536 + 64

	// A port's highest rate in packets/s: 800 Gb/s of the shortest frames. The
	// testpmds without bps (before 19.11) had 100 Gb/s.
	fastest, fastestOld = 1.5e9, 3e8

	// Two shows are 0.01 ms apart at least (printing one takes longer), so no
	// rate is more than this times the packets it is about.
	showsPerSecond = 1e5

	// Packets, or packets/s, from which on rounding doesn't count.
	many = 1000
)

// check looks at the block that came last: what can't be right by itself, then
// what can't beside the block of its port before.
func (p *parser) check(o *openBlock) {
	b := &o.Block
	for l := range blockLabels {
		if v := *b.field(l); v != nil && *v >= 1<<63 {
			p.problem(o.lines[l], "port %d: %s is %d: a number that went below zero", b.Port, l, *v)
		}
	}
	for _, d := range []direction{rxWay, txWay} {
		p.sizes(o, d)
		p.rates(o, d)
	}

	h := p.port(b.Port)
	first := h.block < 0
	comparable := !first && !h.cleared && h.spread == p.spread
	p.log.Prior = append(p.log.Prior, noPort)
	i := len(p.log.Blocks) - 1
	if comparable {
		before := &p.log.Blocks[h.block]
		if p.backwards(o, before) {
			p.log.Prior[i] = h.block
			p.growth(o, before)
		}
	} else if !first {
		p.note(b.Line, "the counters were cleared, or are another testpmd's: not compared with the block before")
	}
	p.remark(o, h, first)
	*h = history{block: i, spread: p.spread, closed: p.closed, frame: h.frame}
	if rx, _ := p.log.Frames(i); rx > 0 {
		h.frame = rx
	}
}

// sizes checks packets against bytes. Some drivers count no bytes.
func (p *parser) sizes(o *openBlock, d direction) {
	packets, bytes := d.packets(&o.Block), d.bytes(&o.Block)
	if packets == nil || bytes == nil || *bytes == 0 {
		return
	}
	line := o.lines[[...]label{rxPackets, txPackets}[d]]
	if *packets == 0 {
		p.problem(line, "port %d: %s-packets 0 with %s-bytes %d", o.Port, d, d, *bytes)
		return
	}
	if each := float64(*bytes) / float64(*packets); each < shortest || each > longest {
		p.problem(line, "port %d: %s: %d bytes in %d packets are %.1f each, which no frame has", o.Port, d, *bytes, *packets, each)
	}
}

// rates checks the printed rates by themselves. testpmd before 17.11 prints a
// huge one after a reset, before 20.08 a wrong one over a long window: its
// arithmetic overflows.
func (p *parser) rates(o *openBlock, d direction) {
	pps, bps := d.pps(&o.Block), d.bps(&o.Block)
	if pps == nil {
		return
	}
	line, rate := o.lines[d.ppsLabel()], float64(*pps)
	most := fastest
	if o.lines[rxBps] == 0 && o.lines[txBps] == 0 {
		most = fastestOld
	}
	if rate > most {
		p.problem(line, "port %d: %s-pps %d: no port is that fast; testpmd before 17.11 prints this after its counters were cleared", o.Port, d.rate(), *pps)
		return
	}
	if packets := d.packets(&o.Block); packets != nil && rate > showsPerSecond*float64(*packets) {
		p.problem(line, "port %d: %s-pps %d, but %s-packets is %d", o.Port, d.rate(), *pps, d, *packets)
	}
	switch {
	case bps == nil || *bps == 0: // a driver that counts no bytes
	case *pps < many:
		if float64(*bps) > 8*longest*(rate+1) {
			p.problem(line, "port %d: %s-bps %d at %s-pps %d", o.Port, d.rate(), *bps, d.rate(), *pps)
		}
	default:
		if each := float64(*bps) / 8 / rate; each < shortest-1 || each > longest {
			p.problem(line, "port %d: %s-bps %d and %s-pps %d make %.1f bytes a packet", o.Port, d.rate(), *bps, d.rate(), *pps, each)
		}
	}
}

// backwards checks that no counter fell since the block before.
func (p *parser) backwards(o *openBlock, before *Block) bool {
	for l := range rxPps {
		was, is := *before.field(l), *o.field(l)
		if was != nil && is != nil && *is < *was {
			p.problem(o.lines[l], "port %d: %s went back from %d to %d, and nothing cleared it in between", o.Port, l, *was, *is)
			return false // the others will have, too
		}
	}
	return true
}

// growth checks the rates against what the counters grew by since the block
// before. A show in between that is not in the log makes the rates' window
// shorter than that, never longer.
func (p *parser) growth(o *openBlock, before *Block) {
	var windows [2]float64 // seconds, as the rates have it
	for _, d := range []direction{rxWay, txWay} {
		packets, ok := growth(d.packets(before), d.packets(&o.Block))
		pps := d.pps(&o.Block)
		bytes, haveBytes := growth(d.bytes(before), d.bytes(&o.Block))
		if ok && haveBytes && packets == 0 && bytes > 0 {
			p.problem(o.lines[[...]label{rxBytes, txBytes}[d]], "port %d: %s-bytes grew by %d, but %s-packets is %d as before", o.Port, d, bytes, d, *d.packets(&o.Block))
		}
		if !ok || pps == nil || *pps == 0 {
			continue
		}
		rate := float64(*pps)
		if packets == 0 {
			p.problem(o.lines[d.ppsLabel()], "port %d: %s-pps %d, but %s-packets is %d as before", o.Port, d.rate(), *pps, d, *d.packets(&o.Block))
			continue
		}
		if rate > showsPerSecond*float64(packets) {
			p.problem(o.lines[d.ppsLabel()], "port %d: %s-pps %d, but %s-packets grew by %d", o.Port, d.rate(), *pps, d, packets)
			continue
		}
		if packets < many || *pps < many {
			continue
		}
		windows[d] = float64(packets) / rate
		if bps := d.bps(&o.Block); bps != nil && haveBytes && bytes > 0 {
			frame, printed := float64(bytes)/float64(packets), float64(*bps)/8/rate
			if !near(frame, printed) {
				p.problem(o.lines[d.bpsLabel()], "port %d: %s-bps and %s-pps make %.1f bytes a packet, the counters %.1f; testpmd before 20.08 prints wrong rates over a long window", o.Port, d.rate(), d.rate(), printed, frame)
			}
		}
	}
	if windows[rxWay] > 0 && windows[txWay] > 0 && !near(windows[rxWay], windows[txWay]) {
		p.problem(o.lines[rxPps], "port %d: by Rx-pps %.3g s went by since the block before, by Tx-pps %.3g s", o.Port, windows[rxWay], windows[txWay])
	}
}

// near allows for counters that a driver reads one after the other.
func near(a, b float64) bool { return max(a, b) <= 1.1*min(a, b)+1e-3 }

// growth is what a counter grew by.
func growth(before, now *uint64) (n uint64, ok bool) {
	if before == nil || now == nil || *now < *before {
		return 0, false
	}
	return *now - *before, true
}

func grewBy(before, now *uint64, least uint64) bool {
	n, ok := growth(before, now)
	return ok && n >= least
}

// Notes on a block whose rates are right and yet not those of the traffic that
// goes by: its window covers something else, too.
const (
	NoteBegan  = "the traffic began in this rate's window"
	NoteSize   = "another size than between the blocks before"
	NoteWindow = "the window is so long that the rate of a testpmd before 20.08 overflows"
	NoteLeft   = "the vhost peer had left: the rates' window covers time in which nothing was sent"
)

// remark notes what a reader of the block should know.
func (p *parser) remark(o *openBlock, h *history, first bool) {
	b := &o.Block
	i := len(p.log.Blocks) - 1
	k := p.log.Prior[i]
	if b.RxPps != nil && b.TxPps != nil && *b.RxPps == 0 && *b.TxPps == 0 {
		switch {
		case first:
			p.note(b.Line, "rates of 0: the first show of a port prints them, whatever went by")
		case k < 0:
			p.note(b.Line, "rates of 0: so does testpmd after its counters were cleared")
		case grewBy(p.log.Blocks[k].RxPackets, b.RxPackets, many) || grewBy(p.log.Blocks[k].TxPackets, b.TxPackets, many):
			p.note(b.Line, "rates of 0, but the counters grew: more than 1000 s went by, or it was a first show")
		default:
			p.note(b.Line, "rates of 0: nothing was counted since the show before")
		}
	}
	if k >= 0 {
		before := p.log.Blocks[k]
		if b.RxPps != nil && before.RxPackets != nil && b.RxPackets != nil && *before.RxPackets == 0 && *b.RxPackets > 0 {
			p.note(b.Line, NoteBegan)
		}
		// Without bps it is a testpmd before 19.11: packets times the TSC's
		// frequency overflow from about this on.
		if b.RxPps != nil && b.RxBps == nil && grewBy(before.RxPackets, b.RxPackets, 1<<64/5_000_000_000) {
			p.note(b.Line, NoteWindow)
		}
	}
	rx, _ := p.log.Frames(i)
	if rx > 0 && h.frame > 0 && (rx > h.frame+0.5 || rx < h.frame-0.5) {
		p.note(b.Line, NoteSize)
	}
	if b.RxPackets != nil && b.RxBytes != nil && *b.RxPackets > 0 {
		each := float64(*b.RxBytes) / float64(*b.RxPackets)
		switch whole := float64(uint64(each + 0.5)); {
		case *b.RxBytes == 0:
			p.note(b.Line, "the driver counts no bytes")
		case each > whole+0.01 || each < whole-0.01:
			p.note(b.Line, "the totals hold frames of several sizes")
		}
	}
	if p.closed > h.closed && b.RxPps != nil && *b.RxPps > 0 {
		p.note(b.Line, NoteLeft)
	}
	if h.event && !first {
		p.note(b.Line, "a link or queue event came since the block before")
	}
}
