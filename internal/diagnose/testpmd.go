package diagnose

import (
	"strconv"
	"strings"
)

// testpmdRules are testpmd's own failures (app/test-pmd, lib/ethdev and
// lib/cmdline, from 16.07 to 25.11) and what its counters don't say. A refused
// command is not fatal by itself: testpmd says so in one line and goes on, and
// whoever typed it knows whether it mattered.
func testpmdRules() []rule {
	return []rule{
		// Ports.
		{
			kind: "no-ports", rank: effect,
			match: `No probed ethernet devices`,
			more: func(c *console, i int, v values) bool {
				if c.has(i, "failed to initialize ", " cannot be used") {
					return false // these name the device
				}
				if v["devs"] = probed(c, i); v["devs"] != "" {
					v["looked"] = "; EAL looked at " + v["devs"]
					v["dev"], _, _ = strings.Cut(v["devs"], ",")
				}
				return true
			},
			what: "testpmd found 0 ports",
			why:  "no device is bound to vfio-pci or a UIO driver, or its driver isn't loaded, or its address is wrong{looked|}; testpmd gives a prompt all the same",
			mend: "dpdk-devbind.py --status-dev net shows who has which device, and dpdk-devbind.py -b vfio-pci {dev|0000:BB:DD.F} takes one over; without a NIC give --vdev",
		},
		{
			kind: "mbuf-pool", rank: cause,
			match: `Creation of mbuf pool for socket (?P<node>\S+) failed: (?P<err>.+)`,
			more: func(c *console, i int, v values) bool {
				m := c.before(i, regexpPool())
				if m == nil {
					m = c.after(i, regexpPool())
				}
				if m != nil {
					// struct rte_mempool_objhdr, struct rte_mbuf and the data,
					// each on cache lines of its own.
					n, _ := strconv.Atoi(m[1])
					size, _ := strconv.Atoi(m[2])
					v["n"] = m[1]
					v["takes"] = "they take about " + strconv.Itoa(n*(size+64+128+64)>>20) + " MiB, and "
				}
				return true
			},
			what: "testpmd got no memory for its {n|} packet buffers ({err})",
			why:  "{takes|}the hugepages or -m are less, or are on another NUMA node than {node}",
			mend: "ask for fewer with --total-num-mbufs=16384, or give more with -m 1024 (--socket-mem for one node), or another --file-prefix where the pool exists",
		},
		{
			kind: "queues-or-descriptors", rank: cause,
			match: `Fail: input (?P<opt>rxq|txq|rxd|txd|hairpin\w*) \((?P<n>\d+)\) can't be (?P<rel>greater|less) than \w+ \((?P<limit>\d+)\) of port (?P<port>\d+)`,
			what:  "port {port} can't have --{opt}={n}",
			why:   "its driver's limit is {limit}",
			mend:  "write --{opt}={limit}",
		},
		{
			kind: "queues-or-descriptors", rank: cause,
			match: `Fail: nb_(?P<opt>rxq|txq)\((?P<n>\d+)\) is greater than max_\w+\((?P<limit>\d+)\)|Ethdev port_id=(?P<port>\d+) nb_(?P<opt2>rx|tx)_queues=(?P<n2>\d+) > (?P<limit2>\d+)`,
			more: func(_ *console, _ int, v values) bool {
				v["opt"] = strings.TrimSuffix(v["opt"], "q") + "q"
				return true
			},
			what: "port {port|of testpmd} can't have {n} queues",
			why:  "its driver has {limit}",
			mend: "write --{opt}={limit}, and queues={n} in the arguments of a virtual device",
		},
		{
			kind: "queues-or-descriptors", rank: cause,
			match: `Invalid value for nb_(?P<dir>rx|tx)_desc\(=(?P<n>\d+)\), should be: <= (?P<max>\d+)(?:, >?= (?P<min>\d+), and a product of (?P<step>\d+))?`,
			what:  "a ring of {n} descriptors is refused",
			why:   "the driver takes {min|1} to {max}, in steps of {step|1}",
			mend:  "write --{dir}d={max}",
		},
		{
			kind: "mtu", rank: cause,
			match: `MTU \((?P<mtu>\d+)\) (?P<rel>[<>]) device (?:min|max) MTU \((?P<limit>\d+)\) for port_id (?P<port>\d+)|Failed to set MTU to (?P<mtu2>\d+) for port (?P<port2>\d+)|max_rx_pkt_len (?P<mtu3>\d+) [<>] (?:max|min) valid value (?P<limit3>\d+)|Frame size \((?P<mtu4>\d+)\) [<>] \w+(?: \w+)* frame size \((?P<limit4>\d+)\) for port_id (?P<port4>\d+)`,
			what:  "port {port|of testpmd} can't have packets of {mtu} bytes",
			why:   "its driver's limit is {limit|another}",
			mend:  "choose --max-pkt-len within it (an MTU is 18 bytes less), and the same MTU on the other side",
		},
		{
			kind: "mbuf-size", rank: cause,
			match: `mbuf_data_room_size (?P<have>\d+) < (?P<need>\d+)|no enough mbuf space ?\((?P<have2>\d+)\) to contain the maximum RX packet length ?\((?P<need2>\d+)\)|(?P<need3>\d+) bytes will not fit in mbuf \((?P<have3>\d+) bytes\)`,
			what:  "a packet buffer of {have} bytes is too small for what may arrive ({need} bytes)",
			why:   "the driver puts a packet into one buffer",
			mend:  "add --mbuf-size={need}, or --enable-scatter",
		},
		{
			kind: "offloads", rank: cause,
			match: `requested (?P<dir>Rx|Tx) offloads (?P<want>0x[0-9a-f]+) doesn't match (?:Rx|Tx) offloads capabilities (?P<have>0x[0-9a-f]+)`,
			what:  "the port's driver doesn't have the {dir} offloads {want}",
			why:   "it has {have}",
			mend:  "leave out the option that asks for it (--enable-rx-cksum, --rx-offloads, --tx-offloads)",
		},
		{
			kind: "port-not-configured", rank: effect,
			match: `Port(?P<port>\d+) dev_configure = (?P<code>-?\d+)|Fail to configure port (?P<port2>\d+)(?P<what> (?:rx|tx|hairpin) queues)?`,
			what:  "testpmd couldn't configure port {port}{what|}{code|}",
			why:   "its driver refused, or what it attaches to could not be made",
			mend:  "look at the lines before, and start testpmd with --log-level='*:8'",
			more: func(_ *console, _ int, v values) bool {
				if v["code"] != "" {
					v["code"] = " (" + v["code"] + ")"
				}
				if v["what"] != "" {
					v["what"] = "'s " + v["what"]
				}
				return true
			},
		},
		{
			kind: "port-not-started", rank: effect,
			match: `Fail to start port (?P<port>\d+)(?:: (?P<err>.+))?`,
			what:  "testpmd couldn't start port {port} ({err|no reason given})",
			why:   "its driver refused: a peer that it must connect to isn't there, or the link isn't",
			mend:  "start the peer first, then port start {port}",
		},
		{
			kind: "ports-not-started", rank: ending,
			match: `Start ports failed`,
			what:  "testpmd started no port",
			why:   "one of them can't be configured",
			mend:  "look at the lines before, and start testpmd with --log-level='*:8'",
		},
		{
			kind: "link-down", rank: note, once: true,
			match: `^Port ?(?P<port>\d+):? Link [Dd]own`,
			what:  "port {port} has no link",
			why:   "its peer isn't there yet or the cable is out, and what is sent is lost",
			mend:  "start the peer, or set the other side up (ip link set IFNAME up); --disable-link-check saves the nine seconds that testpmd waits",
		},
		{
			kind: "promiscuous", rank: note, once: true,
			match: `(?:Error during|Failed to) enabl(?:ing|e) promiscuous mode for (?:port|device \(port) (?P<port>\d+)\)?: (?P<err>.+?)(?: - ignore)?$`,
			what:  "port {port} isn't promiscuous ({err})",
			why:   "its driver can't, and it takes only packets to its own address",
			mend:  "send to that address: --eth-peer=PORT,MAC on the sending testpmd",
		},
		{
			kind: "mlockall", rank: note, once: true,
			match: `mlockall\(\) failed with error "(?P<err>[^"]+)"`,
			what:  "testpmd couldn't lock its memory ({err})",
			why:   "the limit on locked memory is lower than what it maps, which is harmless but for page faults",
			mend:  "ulimit -l unlimited, or pass --no-mlockall",
		},

		// Commands and options of its own.
		{
			kind: "port-still-forwarding", rank: note,
			match: `Please remove port (?P<port>\d+) from forwarding configuration`,
			more: func(c *console, i int, v values) bool {
				v["ports"] = strings.Join(c.all(i, regexpRemove()), " and ")
				return refused(c, i, v)
			},
			what: "testpmd refused {command} for port {ports}",
			why:  "packets are still being forwarded; it prints Done all the same",
			mend: "send stop before port stop all",
		},
		{
			kind: "port-in-bond", rank: note,
			match: `Please remove port (?P<port>\d+) from bond(?:ed|ing) device`,
			more:  refused,
			what:  "testpmd refused {command} for port {port}",
			why:   "the port belongs to a bonding device",
			mend:  "use that device's port instead",
		},
		{
			kind: "port-not-stopped", rank: note,
			match: `[Pp]lease stop (?P<what>port \d+|all ports|the ports|port\(s\)|forwarding) first`,
			more: func(c *console, i int, v values) bool {
				v["stop"] = map[string]string{"all ports": "port stop all", "the ports": "port stop all", "port(s)": "port stop all", "forwarding": "stop"}[v["what"]]
				if v["stop"] == "" {
					v["stop"] = "port stop " + strings.TrimPrefix(v["what"], "port ")
				}
				return refused(c, i, v)
			},
			what: "testpmd refused {command}",
			why:  "that can't be changed while {what} runs",
			mend: "send stop, {stop}, the command, port start all, start",
		},
		{
			kind: "port-not-stopped", rank: note,
			match: `Port (?P<port>\d+) is now not stopped`,
			more:  refused,
			what:  "testpmd refused {command} for port {port}",
			why:   "the port runs already",
			mend:  "nothing is to be done, or send port stop {port} first",
		},
		{
			kind: "forwarding-already-started", rank: note,
			match: `Packet forwarding already started`,
			what:  "testpmd refused start",
			why:   "it is forwarding already, with the configuration of then",
			mend:  "send stop before start",
		},
		{
			kind: "forwarding-not-started", rank: note,
			match: `Packet forwarding (?P<how>not started|is not ready)`,
			what:  "testpmd is not forwarding",
			why:   "start was never sent, or was refused, so all counters stay 0 while the link is up",
			mend:  "send start, and see that it prints \"packet forwarding - ports=\"",
		},
		{
			kind: "ports-not-started", rank: note,
			match: `Not all ports were started`,
			what:  "testpmd refused start",
			why:   "a port isn't started",
			mend:  "send port start all, and see that it prints no Fail, then start",
		},
		{
			kind: "invalid-port", rank: note,
			match: `Invalid port(?: id| number| identifier)? ?(?P<port>\d+)?|Port ID (?P<port2>\d+) is not allocated`,
			more: func(c *console, i int, v values) bool {
				if m := c.after(i, regexpValid()); m != nil {
					v["have"] = " of [" + m[1] + "]"
				} else if m := c.before(i, regexpValid()); m != nil {
					v["have"] = " of [" + m[1] + "]"
				}
				return refused(c, i, v)
			},
			what: "testpmd refused {command}, for there is no port {port|of that number}",
			why:  "it numbers its ports from 0 in the order of their options, and a device that failed has none",
			mend: "choose a port{have|} from show port summary all",
		},
		{
			kind: "bad-command", rank: note,
			match: `^(?P<err>Bad arguments|Command not found|Ambiguous command)`,
			more:  refused,
			what:  "testpmd refused {command} ({err})",
			why:   "this version doesn't have that command, or it is misspelt",
			mend:  "see help all for how it is written here",
		},
		{
			kind: "packet-size-refused", rank: note,
			match: `(?:total packet length=(?P<total>\d+) < (?P<min>\d+)|length\[\d+\]=(?P<seg>\d+) > mbuf_data_size=(?P<room>\d+)|(?P<err>length\[\d+\]=\d+ > UINT16_MAX|nb segments per TX packets?=\d+ >= \d+|number of segments \d+[^\n]*)) - (?:give up|ignored)|bad (?P<opt>txpkts)\b`,
			more: func(_ *console, _ int, v values) bool {
				switch {
				case v["total"] != "":
					v["size"] = v["total"]
					v["why"] = "with Ethernet, IPv4 and UDP headers a packet has at least " + v["min"]
					v["mend"] = "choose at least " + v["min"] + ", such as set txpkts 64"
				case v["seg"] != "":
					v["size"] = v["seg"]
					v["why"] = "a segment fits into a packet buffer of " + v["room"]
					v["mend"] = "start testpmd with --mbuf-size=" + v["seg"] + " or more, or split it, such as set txpkts 2048,2048"
				default:
					v["why"] = "lengths are numbers of bytes, separated by commas, a segment each"
					v["mend"] = "write such as set txpkts 64"
				}
				return true
			},
			what: "testpmd refused a packet length of {size|that form}, and keeps the old one",
			why:  "{why}",
			mend: "{mend}",
		},
		{
			kind: "forwarding-mode-unknown", rank: note,
			match: `^Invalid (?P<mode>\S+) packet forwarding mode`,
			what:  "testpmd has no forwarding mode {mode} and keeps the one before",
			why:   "this version doesn't know it, or it is misspelt",
			mend:  "see help config for the modes: set fwd io|mac|rxonly|txonly|...",
		},
		{
			kind: "testpmd-options", rank: effect,
			match: `^Invalid (?:option|parameter): (?P<opt>\S+)|Command line is incomplete or incorrect|Command line is incorrect`,
			what:  "testpmd doesn't take its own options {opt|}",
			why:   "those after -- are misspelt, or this version doesn't have them",
			mend:  "compare with dpdk-testpmd --no-huge --no-pci -- --help",
		},

		// Its end.
		{
			kind: "stdin-closed", rank: exit,
			match: `^Press enter to exit`,
			more: func(c *console, i int, _ values) bool {
				_, to := c.around(i)
				for _, l := range c.lines[i+1 : to] {
					if l.text != "" {
						return strings.HasPrefix(l.text, "Telling cores to stop") || strings.HasPrefix(l.text, "Stopping port") || strings.HasPrefix(l.text, "Primary: Sending 'stop_req'")
					}
				}
				return false
			},
			what: "testpmd ended as soon as it ran",
			why:  "its stdin was closed (or gave it a key), which is how it is told to end, with exit code 0",
			mend: "give it a terminal or a pipe that stays open (sleep infinity | dpdk-testpmd ...), -t in a container, or --stats-period 1",
		},
		{
			kind: "stdin-closed", rank: exit,
			match: `^Bye\.\.\.`,
			more:  func(c *console, i int, _ values) bool { return endOfInput(c, i) == atFirstPrompt },
			what:  "testpmd ended at its first prompt",
			why:   "its stdin was closed, which is how it is told to end, with exit code 0",
			mend:  "give it a terminal or a pipe that stays open (sleep infinity | dpdk-testpmd ... -i), -i -t in a container",
		},
		{
			kind: "stdin-closed", rank: note,
			match: `^Bye\.\.\.`,
			more:  func(c *console, i int, _ values) bool { return endOfInput(c, i) == atLaterPrompt },
			what:  "testpmd ended without being told to quit",
			why:   "its stdin was closed after the last command",
			mend:  "if it should have gone on, keep the pipe or terminal open",
		},
		{
			kind: "crash", rank: cause,
			match: `Segmentation fault`,
			more: func(c *console, i int, v values) bool {
				if c.has(i, "memif") {
					v["why"] = "a testpmd that forwards into a memif whose peer has left, or isn't there yet, does so"
					v["mend"] = "start the forwarder last and stop it first"
				}
				return true
			},
			what: "the program crashed (segmentation fault)",
			why:  "{why|that is a bug of it or of a driver, or an argument that no driver expects}",
			mend: "{mend|look at dmesg | tail for the library it happened in, and try another DPDK version}",
		},

		// Loss that the counters hide.
		{
			kind: "rx-nombuf", rank: note, once: true,
			match: `RX-nombuf:\s+(?P<n>[1-9]\d*)`,
			what:  "the port ran out of packet buffers {n} times",
			why:   "the pool is smaller than what rings and peers hold, and such loss is in no other counter",
			mend:  "start testpmd with more: --total-num-mbufs=65536",
		},
		{
			kind: "loss-in-forward-statistics", rank: note, once: true,
			match: `TX-packets: (?P<sent>\d+)\s+TX-dropped: (?P<dropped>[1-9]\d*)\s+TX-total: (?P<total>\d+)`,
			more: func(c *console, i int, v values) bool {
				if m := c.before(i, regexpForward()); m != nil {
					v["port"] = "port " + m[1]
				}
				return true
			},
			what: "{port|testpmd} sent {sent} of {total} packets and dropped {dropped}",
			why:  "the ring was full, and with net_vhost and net_virtio neither RX-missed nor TX-errors counts that, so their 0 proves nothing",
			mend: "take the loss as sent less received, or from TX-dropped of the forward statistics, which stop prints",
		},
		{
			kind: "peer-mac-default", rank: note, once: true,
			match: `RX P=\d+/Q=\d+ .*-> TX P=(?P<port>\d+)/Q=\d+ .*peer=02:00:00:00:00:0`,
			more: func(c *console, i int, v values) bool {
				// io, macswap, rxonly and others leave the address alone.
				if m := c.before(i, regexpMode()); m != nil && m[1] != "mac" && m[1] != "txonly" && m[1] != "flowgen" {
					return false
				}
				v["macs"] = strings.Join(c.all(i, regexpPeer()), " and ")
				return true
			},
			what: "packets are sent to {macs}",
			why:  "these are testpmd's default peers (02:00:00:00:00:PORT) and no receiver's address, and a NIC, a macvtap or a switch that isn't promiscuous drops them uncounted",
			mend: "where the receiver counts nothing, pass --eth-peer={port},MAC with the MAC that it prints (Port 0: MAC), or set promisc all on there",
		},
	}
}

var (
	// testpmd 16.07 to 25.11: create a new mbuf pool <mb_pool_0>: n=2048, size=2176, socket=0.
	regexpPool    = lazily(`create a new mbuf pool <[^>]*>: n=(\d{1,9}), size=(\d{1,6})`)
	regexpRemove  = lazily(`Please remove port (\d+) from forwarding`)
	regexpValid   = lazily(`The valid ports array is \[ ?([\d ,]+?) ?\]`)
	regexpForward = lazily(`Forward statistics for port (\d+)`)
	regexpMode    = lazily(`(\w+) packet forwarding - ports=`)
	regexpPeer    = lazily(`peer=(02:00:00:00:00:0[0-9A-Fa-f])`)
)

// refused adds the command that a line answers.
func refused(c *console, i int, v values) bool {
	v["command"] = "a command"
	if cmd := c.command(i); cmd != "" {
		v["command"] = strconv.Quote(cmd)
	}
	return true
}

// How an interactive testpmd came to its "Bye...".
const (
	toldTo = iota
	atFirstPrompt
	atLaterPrompt
)

func endOfInput(c *console, i int) int {
	from, _ := c.around(i)
	prompted, commands := false, false
	for _, l := range c.lines[from:i] {
		switch {
		case l.typed && (l.text == "quit" || strings.HasPrefix(l.text, "quit ")),
			strings.Contains(l.text, " received, preparing to exit"),
			strings.HasPrefix(l.text, "Press enter to exit"):
			return toldTo
		case l.typed:
			prompted = true
			commands = commands || isCommand(l.text)
		}
	}
	switch {
	case !prompted:
		return toldTo
	case commands:
		return atLaterPrompt
	}
	return atFirstPrompt
}
