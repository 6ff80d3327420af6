package rpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
)

// statusCodes by core.Code.
var statusCodes = [...]codes.Code{
	core.Invalid:     codes.InvalidArgument,
	core.NotFound:    codes.NotFound,
	core.Conflict:    codes.AlreadyExists,
	core.Denied:      codes.PermissionDenied,
	core.Exhausted:   codes.ResourceExhausted,
	core.Busy:        codes.Aborted,
	core.Unavailable: codes.Unavailable,
	core.Timeout:     codes.DeadlineExceeded,
	core.Unsupported: codes.Unimplemented,
	core.Corrupt:     codes.DataLoss,
	core.Internal:    codes.Internal,
}

// statusCode of c; Internal for what is none.
func statusCode(c core.Code) codes.Code {
	if c < core.Invalid || int(c) >= len(statusCodes) {
		return codes.Internal
	}
	return statusCodes[c]
}

// coreCode of a gRPC code; those that Weft never sends itself get the nearest.
func coreCode(c codes.Code) core.Code {
	for i, s := range statusCodes {
		if s == c && i != 0 {
			return core.Code(i)
		}
	}
	switch c {
	case codes.Canceled:
		return core.Unavailable
	case codes.OutOfRange, codes.FailedPrecondition:
		return core.Invalid
	case codes.Unauthenticated:
		return core.Denied
	default:
		return core.Internal
	}
}

// outward makes a status of a handler's error: the core.Error goes whole, in the details; more details follow it.
func outward(err error, more ...protoadapt.MessageV1) error {
	e := core.AsError(err)
	s := status.New(statusCode(e.Code), cut(e.What, maxMessage))
	if whole, fail := s.WithDetails(append([]protoadapt.MessageV1{protoadapt.MessageV1Of(encodeError(e))}, more...)...); fail == nil {
		s = whole
	}
	return s.Err()
}

// then makes a call that answers nothing, if its request is right and somebody still waits.
func (d *decoder) then(ctx context.Context, call func() error) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	if err := call(); err != nil {
		return outward(err)
	}
	return nil
}

// answered makes a call, if its request is right and somebody still waits, and encodes its answer.
func answered[A, P any](ctx context.Context, d *decoder, call func(context.Context) (A, error), encode func(A) *P) (*P, error) {
	var answer A
	err := d.then(ctx, func() (err error) {
		answer, err = call(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return encode(answer), nil
}

// remote is who a client calls, for its errors.
type remote struct {
	who  string      // NIC driver, server
	away core.Reason // when it cannot be reached
	nic  bool        // a code without a reason is about a NIC
}

// local is for errors that come in with a call: whose they are is known by their reasons.
var local = remote{away: core.PluginAway}

// inward makes a core.Error of a call's error: the one of the details, or one that fits gRPC's own status.
func (r remote) inward(method string, err error) *core.Error {
	s, ok := status.FromError(err)
	if !ok {
		s = status.FromContextError(err)
	}
	for _, d := range s.Details() {
		if p, ok := d.(*corev1.Error); ok {
			if p.GetCode() == corev1.Code_CODE_UNSPECIFIED {
				p.Code = corev1.Code(coreCode(s.Code()))
			}
			return r.fault(p)
		}
	}
	code := coreCode(s.Code())
	reason := r.reason(code)
	switch s.Code() {
	case codes.Canceled:
		reason, err = core.Cancelled, context.Canceled
	case codes.DeadlineExceeded:
		err = context.DeadlineExceeded
	case codes.ResourceExhausted: // gRPC's own: a message beyond its bound
		reason, err = core.Overloaded, nil
	default:
		err = nil
	}
	message := text(s.Message())
	var e *core.Error
	if err != nil && message != err.Error() {
		e = core.Errorf(reason, "%s: %s: %s: %w", r.who, method, message, err)
	} else if err != nil {
		e = core.Errorf(reason, "%s: %s: %w", r.who, method, err)
	} else {
		e = core.Errorf(reason, "%s: %s: %s", r.who, method, message)
	}
	e.Code = code
	return e
}

// only the error of a call that answers nothing.
func (r remote) only(method string, err error) error {
	if err == nil {
		return nil
	}
	return r.inward(method, err)
}

// answer says what is wrong with a reply.
func (r remote) answer(method string, d *decoder) error {
	if d.err == nil {
		return nil
	}
	return core.Errorf(core.InternalFault, "%s: %s: its answer cannot be used: %w", r.who, method, d.err)
}

// decoded is the answer to a call, or the call's error.
func decoded[A any](r remote, method string, err error, answer func(*decoder) A) (A, error) {
	if err != nil {
		var none A
		return none, r.inward(method, err)
	}
	d := &decoder{}
	a := answer(d)
	return a, r.answer(method, d)
}
