package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Exit codes, as `weft --help` tells them.
const (
	ExitFailed = 1   // the call was understood and failed
	exitUsage  = 2   // wrong usage, or a configuration that cannot be used
	ExitRun    = 125 // `weft run` itself failed; everything else is COMMAND's own
	ExitExec   = 126 // its COMMAND cannot be executed
	ExitNone   = 127 // there is no such COMMAND
)

// ExitError carries an exit code; an empty text prints nothing.
type ExitError struct {
	code int
	err  error
}

func (e *ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *ExitError) Unwrap() error { return e.err }

func Exit(code int, err error) error { return &ExitError{code, err} }

func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.code
	}
	if e, ok := errors.AsType[*core.Error](err); ok && (e.Reason == core.BadConfig || e.Reason == core.BadCall) {
		return exitUsage
	}
	return ExitFailed
}

// Complain writes an error with its remedy for a person, as one line. It waits at most 2 s for the reader.
func Complain(err error) {
	text := err.Error()
	if e, ok := errors.AsType[*core.Error](err); ok && e.Remedy != "" {
		text += "; " + e.Remedy
	}
	if text = strings.TrimSpace(text); text != "" {
		fmt.Fprintln(stderr(lastWords), "weft: "+core.Flat(text))
	}
}
