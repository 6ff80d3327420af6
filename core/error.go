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

var codeNames = [...]string{
	"ok", "invalid", "not-found", "conflict", "denied", "exhausted", "busy", "unavailable", "timeout", "unsupported",
	"corrupt", "internal",
}

func (c Code) String() string { return codeNames[min(int(c), len(codeNames)-1)] }

// Error makes a Code a sentinel: errors.Is(err, core.Busy).
func (c Code) Error() string { return c.String() }

// Error is the one error type that crosses Weft's boundaries. It reads "what: which: why".
type Error struct {
	Code   Code
	Reason Reason     // stable: the key of docs/errors.md, of metrics and of an adapter's words
	What   string     // what: which: why
	Remedy string     // what the reader can do about it; may be empty
	Short  []Shortage // Exhausted: the resources that a NIC lacked
	err    error
}

// Shortage is one resource of which a NIC had too little. Pool says that the NIC lacks a pool, not entries.
type Shortage struct {
	Device   string
	Resource Resource
	Want     uint16
	Have     uint16 // 0: none is left; Want or more: the NIC did not say
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

// once cuts the parts at the start of the cause that the message already has.
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

// Down is the cause of the error of a call whose plugin has failed: it starts again slowly, or an administrator must
// restart it.
type Down string

func (d Down) Error() string { return string(d) }

// WithRemedy replaces the remedy of the Reason.
func (e *Error) WithRemedy(remedy string) *Error {
	e.Remedy = remedy
	return e
}

// WithShort names the resources that were short.
func (e *Error) WithShort(short ...Shortage) *Error {
	e.Short = short
	return e
}

func (e *Error) Error() string { return e.What }

// Known is the error's remedy; empty where it is the usual one of its reason.
func (e *Error) Known() string {
	if e.Remedy == e.Reason.Remedy() {
		return ""
	}
	return e.Remedy
}

// Line is the error with its remedy, for a person.
func (e *Error) Line() string {
	if e.Remedy == "" {
		return e.What
	}
	return e.What + "; " + e.Remedy
}

// Unwrap returns the cause that Errorf received with %w.
func (e *Error) Unwrap() error { return e.err }

// Is matches the error's Code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Scope says who is at fault: see Scope.
func (e *Error) Scope() Scope { return e.Reason.Scope() }

// ReasonOf is the Reason of AsError's Error; empty where err is nil.
func ReasonOf(err error) Reason {
	if e := AsError(err); e != nil {
		return e.Reason
	}
	return ""
}

// AsError finds the Error in err, or makes one. A context's deadline becomes Timeout, a cancelled context
// Unavailable, and any other foreign error Internal. The message is always that of err.
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
