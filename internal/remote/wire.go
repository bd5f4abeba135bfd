package remote

import (
	"encoding/json"
	"os"
	"time"

	"sweep/internal/agent"
)

// protocol is the version of what the two sides say to each other. They are the
// same binary, which Dial sees to by its checksum, so it changes without a thought
// for older ones.
const protocol = 1

const (
	// Beat is how often a side says that it lives.
	defaultBeat = 2 * time.Second
	// Silence is how long nothing may be heard of the other side: seven beats, for
	// a machine whose CPUs are polled on is slow to answer.
	defaultSilence = 15 * time.Second

	// maxLine is the longest line that is read, in bytes: an answer of Read holds
	// whole files. What is longer is brought in pieces (Put).
	maxLine = 64 << 20

	// window is how many chunks of a process's output may be under way. The
	// agent keeps what is printed beyond that until the other side has taken some,
	// so that nobody has to hold it all and a reader that is slow keeps nothing
	// else waiting: not the calls, not the heartbeat.
	window = 64
)

// Kinds of messages.
const (
	kindHello  = "hello"  // the first line of each side; body: Hello, or greeting
	kindBeat   = "beat"   // I live
	kindCall   = "call"   // do method; body: its arguments
	kindCancel = "cancel" // nobody waits for the answer to call id any more
	kindAnswer = "answer" // to call id; body and err, either or both
	kindChunk  = "chunk"  // the process that call id started printed body
	kindTaken  = "taken"  // a chunk of that process was taken: one more may come
	kindEnd    = "end"    // its terminal is at its end
	kindExit   = "exit"   // it ended; body: agent.Exit, or err
)

// message is one line.
type message struct {
	Kind    string          `json:"kind"`
	ID      uint64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Timeout time.Duration   `json:"timeout,omitempty"` // of a call, in ns; none where 0
	Body    json.RawMessage `json:"body,omitempty"`
	Err     *fault          `json:"err,omitempty"`
}

// Hello is what the agent says of itself and of its machine.
type Hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"` // of the binary
	PID      int    `json:"pid"`
	Boot     string `json:"boot"` // the boot's id
	UID      int    `json:"uid"`
	User     string `json:"user"`
	Uname    string `json:"uname"` // kernel's name, release, architecture
	Hostname string `json:"hostname"`
}

// greeting is what the other side answers: how often it wants to be told that
// the agent lives, and after which silence it is to be taken for dead.
type greeting struct {
	Beat    time.Duration `json:"beat"`
	Silence time.Duration `json:"silence"`
}

// Methods of the agent, and what they take where that is more than one value.
const (
	methodStart     = "start"
	methodWake      = "wake"
	methodRead      = "read"
	methodList      = "list"
	methodApply     = "apply"
	methodRevert    = "revert"
	methodFind      = "find"
	methodSHA256    = "sha256"
	methodExchange  = "exchange"
	methodProcesses = "processes"
	methodUsage     = "usage"
	methodPin       = "pin"
	methodTempDir   = "tempdir"
	methodRemove    = "remove"
	methodClose     = "close"
	methodLock      = "lock"
	methodUndo      = "undo"

	methodWrite  = "write"  // of a process
	methodSignal = "signal" // of a process

	methodPut    = "put"    // begins to bring a file
	methodPiece  = "piece"  // brings a piece of it
	methodPutEnd = "putend" // compares its checksum
)

type none struct{}

type wakeArgs struct {
	CPUs []int         `json:"cpus"`
	D    time.Duration `json:"d"`
}

type exchangeArgs struct {
	Socket   string   `json:"socket"`
	Requests []string `json:"requests"`
}

type pinArgs struct {
	PID    int    `json:"pid"`
	Prefix string `json:"prefix"`
	CPUs   []int  `json:"cpus"`
}

type writeArgs struct {
	Process uint64 `json:"process"` // the call that started it
	Data    []byte `json:"data"`
}

type signalArgs struct {
	Process uint64 `json:"process"`
	Signal  int    `json:"signal"`
}

type putArgs struct {
	SHA256 string      `json:"sha256"`
	Name   string      `json:"name"` // what it is called, without its folder
	Size   int64       `json:"size"`
	Mode   os.FileMode `json:"mode"`
}

// putState is where a file is brought to. It is there already where Have is set;
// else ID is what the pieces are for.
type putState struct {
	Path string `json:"path"`
	Have bool   `json:"have,omitempty"`
	ID   uint64 `json:"id,omitempty"`
}

type pieceArgs struct {
	ID   uint64 `json:"id"`
	Data []byte `json:"data"`
}

type putEndArgs struct {
	ID    uint64 `json:"id"`
	Abort bool   `json:"abort,omitempty"` // it won't come whole: forget it
}

// undone is [agent.Undone] as plain data.
type undone struct {
	Journal string          `json:"journal"`
	Results string          `json:"results,omitempty"`
	Running *agent.Identity `json:"running,omitempty"`
	Changes []agent.Change  `json:"changes,omitempty"`
	Errs    []*fault        `json:"errs,omitempty"`
}

func toUndone(u agent.Undone) undone {
	out := undone{Journal: u.Journal, Results: u.Results, Running: u.Running, Changes: u.Changes}
	for _, err := range u.Errs {
		out.Errs = append(out.Errs, newFault(err))
	}
	return out
}

func (u undone) undone() agent.Undone {
	out := agent.Undone{Journal: u.Journal, Results: u.Results, Running: u.Running, Changes: u.Changes}
	for _, f := range u.Errs {
		out.Errs = append(out.Errs, f.error(""))
	}
	return out
}
