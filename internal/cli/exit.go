package cli

// exitError is an error with the exit code that the program ends with.
type exitError struct {
	code int
	err  error // nil: there is nothing more to say
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// Code is the exit code.
func (e *exitError) Code() int { return e.code }

func withExit(code int, err error) error { return &exitError{code: code, err: err} }

// Exit codes of the program. Those of a run are explained in docs/exit-codes.md.
const (
	exitFailed      = 1   // some point failed, a file holds a problem
	exitUsage       = 2   // the command line is wrong; nothing was started
	exitNothing     = 3   // nothing could run: a part is missing
	exitInterrupted = 130 // ended by Ctrl-C, as shells report it
)
