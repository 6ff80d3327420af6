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
