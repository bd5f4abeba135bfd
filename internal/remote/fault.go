package remote

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"syscall"

	"sweep/internal/agent"
)

// fault is an error on its way to the other side: its words, and what of it the
// code there may ask for with errors.Is and errors.As.
type fault struct {
	Text  string `json:"text"`
	Codes []code `json:"codes,omitempty"`
}

type code struct {
	Code string          `json:"code"`
	Data json.RawMessage `json:"data,omitempty"`
}

// meaning is an error that keeps what it means.
type meaning struct {
	code   string
	pack   func(error) (json.RawMessage, bool) // ok false: it is another error
	unpack func(json.RawMessage) error
}

// meanings are those that do. One more is one more line.
func meanings() []meaning {
	return []meaning{
		value("canceled", context.Canceled),
		value("deadline", context.DeadlineExceeded),
		value("io-deadline", os.ErrDeadlineExceeded),
		value("gone", agent.ErrGone),
		typed[syscall.Errno]("errno"), // fs.ErrNotExist, fs.ErrPermission and their like too
		typed[*agent.ErrRunning]("running"),
		typed[*agent.ErrProtected]("protected"),
	}
}

// value is an error that is asked for with errors.Is.
func value(code string, target error) meaning {
	return meaning{
		code:   code,
		pack:   func(err error) (json.RawMessage, bool) { return nil, errors.Is(err, target) },
		unpack: func(json.RawMessage) error { return target },
	}
}

// typed is an error that is asked for with errors.As; its fields come along.
func typed[T error](code string) meaning {
	return meaning{
		code: code,
		pack: func(err error) (json.RawMessage, bool) {
			var t T
			if !errors.As(err, &t) {
				return nil, false
			}
			b, err := json.Marshal(t)
			return b, err == nil
		},
		unpack: func(b json.RawMessage) error {
			var t T
			if json.Unmarshal(b, &t) != nil {
				return nil
			}
			return t
		},
	}
}

func newFault(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error()}
	for _, m := range meanings() {
		if data, ok := m.pack(err); ok {
			f.Codes = append(f.Codes, code{m.code, data})
		}
	}
	return f
}

// error is the fault as an error again, said to be of host where that has a name.
func (f *fault) error(host string) error {
	if f == nil {
		return nil
	}
	e := &hostError{host: host, text: f.Text}
	for _, c := range f.Codes {
		for _, m := range meanings() {
			if m.code != c.Code {
				continue
			}
			if err := m.unpack(c.Data); err != nil {
				e.means = append(e.means, err)
			}
		}
	}
	return e
}

// hostError is an error of another machine.
type hostError struct {
	host, text string
	means      []error
}

func (e *hostError) Error() string {
	if e.host == "" {
		return e.text
	}
	return "on " + e.host + ": " + e.text
}

func (e *hostError) Unwrap() []error { return e.means }
