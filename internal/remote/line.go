package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// line is one side of a connection.
type line struct {
	in    *bufio.Reader
	out   io.Writer
	queue chan []byte

	epoch time.Time
	heard atomic.Int64 // when the last byte came, in ns after epoch

	beat    chan time.Duration // a new one
	silence atomic.Int64

	dying sync.Once
	dead  chan struct{}
	err   error // why, once dead is closed

	// explain may say better why the connection died; nil doesn't.
	explain func(error) error
}

// silentError says that the other side is taken for dead.
type silentError struct{ d time.Duration }

func (e silentError) Error() string {
	return fmt.Sprintf("nothing was heard for %v", e.d)
}

// newLine returns a side that says nothing yet but what is sent: see start.
func newLine(in io.Reader, out io.Writer) *line {
	l := &line{
		out:   out,
		queue: make(chan []byte),
		epoch: time.Now(),
		beat:  make(chan time.Duration, 1),
		dead:  make(chan struct{}),
	}
	l.in = bufio.NewReaderSize(hearing{in, l}, 64<<10)
	return l
}

// hearing notes that something was heard: any byte, for a long line takes a
// while on a slow network.
type hearing struct {
	io.Reader
	l *line
}

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.l.hear()
	}
	return n, err
}

func (l *line) hear() { l.heard.Store(int64(time.Since(l.epoch))) }

// pace sets how often this side says that it lives, and for how long nothing may
// be heard of the other.
func (l *line) pace(beat, silence time.Duration) {
	l.silence.Store(int64(silence))
	select {
	case <-l.beat: // one that was not taken up yet
	default:
	}
	l.beat <- beat
}

// start lets the line speak and listen: handle is called with each message, one
// after the other, and must not wait for anything.
func (l *line) start(beat, silence time.Duration, handle func(message) error) {
	l.hear()
	l.pace(beat, silence)
	go l.speak()
	go l.watch()
	go func() {
		for {
			m, err := l.next()
			if err == nil {
				err = handle(m)
			}
			if err != nil {
				l.fail(err)
				return
			}
		}
	}()
}

// next is the next message that is no beat.
func (l *line) next() (message, error) {
	for {
		b, err := readLine(l.in, maxLine)
		if err != nil {
			return message{}, err
		}
		var m message
		if err := json.Unmarshal(b, &m); err != nil {
			return message{}, fmt.Errorf("no message of an agent: %.80q", b)
		}
		if m.Kind != kindBeat {
			return m, nil
		}
	}
}

// longError says that a line is longer than so many bytes.
type longError int

func (e longError) Error() string { return fmt.Sprintf("a line is longer than %d bytes", int(e)) }

// readLine reads a line of at most limit bytes, without its end. It is valid until
// the next read.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var long []byte
	for {
		b, err := r.ReadSlice('\n')
		if err == nil && long == nil {
			return bytes.TrimSuffix(b, []byte("\n")), nil
		}
		if len(long)+len(b) > limit {
			return nil, longError(limit)
		}
		long = append(long, b...)
		if err == nil {
			return bytes.TrimSuffix(long, []byte("\n")), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// speak writes what is queued, and a beat where there is nothing.
func (l *line) speak() {
	beat, _ := json.Marshal(message{Kind: kindBeat})
	beat = append(beat, '\n')
	ticker := time.NewTicker(defaultBeat)
	defer ticker.Stop()
	for {
		var b []byte
		select {
		case b = <-l.queue:
		case d := <-l.beat:
			ticker.Reset(d)
			b = beat
		case <-ticker.C:
			b = beat
		case <-l.dead:
			return
		}
		if _, err := l.out.Write(b); err != nil {
			l.fail(err)
			return
		}
	}
}

// watch takes the other side for dead after too long a silence.
func (l *line) watch() {
	last := time.Now()
	for {
		silence := time.Duration(l.silence.Load())
		select {
		case <-time.After(min(silence/8, 250*time.Millisecond)):
		case <-l.dead:
			return
		}
		// Who was stopped himself (a signal, a laptop's lid) can't tell: what was
		// said meanwhile waits to be read.
		if slept := time.Since(last); slept > silence/2 {
			l.hear()
		}
		last = time.Now()
		if time.Since(l.epoch)-time.Duration(l.heard.Load()) > silence {
			l.fail(silentError{silence})
			return
		}
	}
}

// send queues a message. It waits while the other side takes nothing, until quit
// is closed or the line is dead.
func (l *line) send(quit <-chan struct{}, m message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(b) > maxLine {
		return fmt.Errorf("%d bytes are too many for one line of at most %d", len(b), maxLine)
	}
	select {
	case l.queue <- append(b, '\n'):
		return nil
	case <-quit:
		return errQuit
	case <-l.dead:
		return l.err
	}
}

var errQuit = errors.New("nobody waits any more")

// fail ends the line. The first reason is the one.
func (l *line) fail(err error) {
	l.dying.Do(func() {
		if l.explain != nil {
			err = l.explain(err)
		}
		l.err = err
		close(l.dead)
	})
}
