package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is the kind of an error; each maps to one gRPC status code and back.
type Code uint8

// The eleven codes. The gRPC code is in the comment.
const (
	Invalid     Code = iota + 1 // InvalidArgument
	NotFound                    // NotFound
	Conflict                    // AlreadyExists
	Denied                      // PermissionDenied
	Exhausted                   // ResourceExhausted
	Busy                        // Aborted
	Unavailable                 // Unavailable
	Timeout                     // DeadlineExceeded
	Unsupported                 // Unimplemented
	Corrupt                     // DataLoss
	Internal                    // Internal
)

var codeNames = [...]string{"ok", "invalid", "not-found", "conflict", "denied", "exhausted", "busy", "unavailable", "timeout", "unsupported", "corrupt", "internal"}

func (c Code) String() string { return codeNames[min(int(c), len(codeNames)-1)] }

// Error makes a Code a sentinel: errors.Is(err, core.Busy).
func (c Code) Error() string { return c.String() }

// Error is the one error type that crosses Weft's boundaries. It reads "what: which: why".
type Error struct {
	Code   Code
	Reason Reason     // stable: the key of docs/errors.md, of metrics and of what an adapter renders
	What   string     // what: which: why
	Remedy string     // what to do about it; may be empty
	Short  []Shortage // Exhausted: what a NIC lacked
	err    error
}

// Shortage is one resource that a NIC had too little of. Pool says that it is a pool that is missing, not the entries.
type Shortage struct {
	Device   string
	Resource Resource
	Want     uint16
	Have     uint16
	Pool     bool
}

// Errorf makes an Error of the Reason's Code. Every %w is kept for errors.Is and errors.As.
func Errorf(r Reason, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Code: r.Code(), Reason: r, What: err.Error(), Remedy: r.Remedy(), err: errors.Unwrap(err)}
	if _, several := err.(interface{ Unwrap() []error }); several {
		e.err = err
	} else if e.err != nil {
		e.What = once(e.What, e.err.Error())
	}
	return e
}

// once leaves out of a message the parts at the start of its cause that it has already:
// "NIC cxi2: cannot create service: NIC cxi2: EIO" becomes "NIC cxi2: cannot create service: EIO".
func once(message, cause string) string {
	before, ends := strings.CutSuffix(message, cause)
	if !ends {
		return message
	}
	parts := strings.Split(before, ": ")
	for {
		part, rest, more := strings.Cut(cause, ": ")
		if !more || !slices.Contains(parts[:len(parts)-1], part) {
			return before + cause
		}
		cause = rest
	}
}

// WithRemedy sets what to do about it.
func (e *Error) WithRemedy(mend string) *Error {
	e.Remedy = mend
	return e
}

// WithShort names what was short.
func (e *Error) WithShort(short ...Shortage) *Error {
	e.Short = short
	return e
}

func (e *Error) Error() string { return e.What }

// Line is the error with its mend, for a person.
func (e *Error) Line() string {
	if e.Remedy == "" {
		return e.What
	}
	return e.What + "; " + e.Remedy
}

// Unwrap gives the cause that Errorf was given with %w.
func (e *Error) Unwrap() error { return e.err }

// Is matches the error's Code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Scope says whom the failure belongs to: see Scope.
func (e *Error) Scope() Scope { return e.Reason.Scope() }

// AsError finds the Error in err, or makes one: a foreign error is Internal, a context's deadline Timeout, its end Unavailable.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		if e.What == err.Error() {
			return e
		}
		c := *e
		c.What, c.err = err.Error(), err
		return &c
	}
	r := InternalFault
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		r = TimedOut
	case errors.Is(err, context.Canceled):
		r = Cancelled
	}
	return &Error{Code: r.Code(), Reason: r, What: err.Error(), Remedy: r.Remedy(), err: err}
}
