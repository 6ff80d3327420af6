package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
)

func TestErrorIsItsCode(t *testing.T) {
	err := fmt.Errorf("node n1: %w", Errorf(ServiceBusy, "service cxi0/7: it is in use"))
	if !errors.Is(err, Busy) {
		t.Errorf("errors.Is(%v, Busy) = false", err)
	}
	for c := Invalid; c <= Internal; c++ {
		if c != Busy && errors.Is(err, c) {
			t.Errorf("errors.Is(%v, %v) = true; only its own code may match", err, c)
		}
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ServiceBusy {
		t.Errorf("errors.AsType = %v, %v; want the service-busy error", e, ok)
	}
}

func TestErrorKeepsEveryCause(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "config.hcl", Err: fs.ErrNotExist}
	one := Errorf(BadConfig, "config.hcl: %w", cause)
	two := Errorf(StoreFailed, "commit: %w; then close: %w", io.ErrShortWrite, cause)
	for _, tt := range []struct {
		name string
		err  error
		is   error
	}{
		{"one", one, fs.ErrNotExist},
		{"the first of two", two, io.ErrShortWrite},
		{"the second of two", two, fs.ErrNotExist},
	} {
		if !errors.Is(tt.err, tt.is) {
			t.Errorf("%s: errors.Is(%q, %q) = false", tt.name, tt.err, tt.is)
		}
		if p, ok := errors.AsType[*fs.PathError](tt.err); tt.is == fs.ErrNotExist && (!ok || p.Path != "config.hcl") {
			t.Errorf("%s: the PathError is lost", tt.name)
		}
	}
	if errors.Unwrap(Errorf(BadCall, "verb %q: unknown", "x")) != nil {
		t.Error("an error without a cause unwraps to something")
	}
}

func TestErrorSaysAPartOnce(t *testing.T) {
	for _, tt := range []struct {
		format, cause, want string
	}{
		{"NIC cxi2: cannot create service: %w", "NIC cxi2: cannot create service: EIO",
			"NIC cxi2: cannot create service: EIO"},
		{"NIC cxi2: cannot create service: %w", "NIC cxi2: EIO", "NIC cxi2: cannot create service: EIO"},
		{"libcxi: /lib/x.so: cannot load it: %w", "/lib/x.so: invalid ELF header",
			"libcxi: /lib/x.so: cannot load it: invalid ELF header"},
		{"NIC cxi2: %w", "NIC cxi20: EIO", "NIC cxi2: NIC cxi20: EIO"},
		{"NIC cxi2: %w", "NIC cxi2", "NIC cxi2: NIC cxi2"},
		{"EIO: %w; then more", "EIO: x", "EIO: EIO: x; then more"},
		{"job 7: %w", "EIO", "job 7: EIO"},
		{"%w", "a: a: b", "a: a: b"},
	} {
		cause := errors.New(tt.cause)
		err := Errorf(NICFailed, tt.format, cause)
		if err.What != tt.want {
			t.Errorf("Errorf(%q, %q) = %q, want %q", tt.format, tt.cause, err.What, tt.want)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%q: its cause is lost", tt.want)
		}
	}
}

func TestErrorLine(t *testing.T) {
	e := Errorf(NotThere, "node %q: there is no such node", "n9")
	if got, want := e.WithRemedy("try n1").Line(), `node "n9": there is no such node; try n1`; got != want {
		t.Errorf("Line() = %q, want %q", got, want)
	}
	if got, want := e.WithRemedy("").Line(), `node "n9": there is no such node`; got != want {
		t.Errorf("Line() without a remedy = %q, want %q", got, want)
	}
}

func TestAsError(t *testing.T) {
	short := Shortage{Device: "cxi0", Resource: LE, Want: 512, Have: 10}
	base := Errorf(NICShort, "cxi0: les: 10 left").WithShort(short)
	for _, tt := range []struct {
		name   string
		err    error
		reason Reason
		code   Code
		what   string
	}{
		{"itself", base, NICShort, Exhausted, "cxi0: les: 10 left"},
		{"wrapped: the outer words stay", fmt.Errorf("prepare tioga/7: %w", base), NICShort, Exhausted,
			"prepare tioga/7: cxi0: les: 10 left"},
		{"deadline", fmt.Errorf("driver cxi: %w", context.DeadlineExceeded), TimedOut, Timeout,
			"driver cxi: context deadline exceeded"},
		{"cancelled", context.Canceled, Cancelled, Unavailable, "context canceled"},
		{"foreign", io.ErrUnexpectedEOF, InternalFault, Internal, "unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := AsError(tt.err)
			if got.Reason != tt.reason || got.Code != tt.code || got.What != tt.what {
				t.Errorf("AsError = {%v %v %q}, want {%v %v %q}", got.Code, got.Reason, got.What, tt.code, tt.reason, tt.what)
			}
			if !errors.Is(got, tt.code) {
				t.Errorf("the result is not %v", tt.code)
			}
			if got != tt.err && !errors.Is(got, tt.err) {
				t.Errorf("the result does not wrap what it was made of")
			}
		})
	}
	if AsError(nil) != nil {
		t.Error("AsError(nil) is not nil")
	}
	wrapped := AsError(fmt.Errorf("n1: %w", base))
	if len(wrapped.Short) != 1 || wrapped.Short[0] != short {
		t.Errorf("Short = %v, want %v", wrapped.Short, short)
	}
	if base.What != "cxi0: les: 10 left" {
		t.Errorf("AsError changed the error that it was given: %q", base.What)
	}
}

func TestReasons(t *testing.T) {
	seen := map[Reason]bool{}
	for _, a := range Reasons() {
		if seen[a.Reason] {
			t.Errorf("%s: stands twice", a.Reason)
		}
		seen[a.Reason] = true
		if a.Code < Invalid || a.Code > Internal {
			t.Errorf("%s: code %d is none of the eleven", a.Reason, a.Code)
		}
		if a.Scope > ScopeNode {
			t.Errorf("%s: class %d does not exist", a.Reason, a.Scope)
		}
		if a.Mean == "" || a.Remedy == "" {
			t.Errorf("%s: says nothing of what it means or of what to do", a.Reason)
		}
		if s := string(a.Reason); s != strings.ToLower(s) || strings.ContainsAny(s, " _.") {
			t.Errorf("%q: a reason is lower case words with dashes", s)
		}
		if a.Reason.Code() != a.Code || a.Reason.Scope() != a.Scope || a.Reason.Remedy() != a.Remedy {
			t.Errorf("%s: Code, Scope or Remedy is not the table's", a.Reason)
		}
	}
}

func TestReasonsAreACopy(t *testing.T) {
	Reasons()[0].Code = Internal
	ClassNames()[0], ResourceNames()[0] = "x", "x"
	if Reasons()[0].Code == Internal || ClassNames()[0] == "x" || ResourceNames()[0] == "x" {
		t.Error("a caller can change the table for everybody")
	}
}

// A reason that came over the wire from a newer release must never take a node out of service.
func TestUnknownReasonDrainsNothing(t *testing.T) {
	r := Reason("of-a-newer-release")
	if r.Scope() != ScopeSystem || r.Code() != Internal || r.Remedy() != "" {
		t.Errorf("unknown reason: class %v, code %v, mend %q", r.Scope(), r.Code(), r.Remedy())
	}
}

func TestCodeNames(t *testing.T) {
	seen := map[string]bool{}
	for c := Code(0); c <= Internal; c++ {
		if seen[c.String()] {
			t.Errorf("code %d: the name %q is taken", c, c)
		}
		seen[c.String()] = true
	}
	if got := Code(200).String(); got != "internal" {
		t.Errorf("Code(200) = %q, want internal", got)
	}
}
