package rpc

import (
	"cmp"
	"math"
	"regexp"

	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
)

// reasonForm is what a reason looks like, known here or not: a newer side may have one more.
var reasonForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// encodeError of an item or of a whole call; nil for nil. A foreign error is made one of core's.
func encodeError(err error) *corev1.Error {
	if err == nil {
		return nil
	}
	e := core.AsError(err)
	return &corev1.Error{
		Code: corev1.Code(e.Code), Reason: utf(string(e.Reason)), What: text(e.What), Remedy: text(e.Remedy),
		Short: every(e.Short[:min(len(e.Short), maxItems)], func(s core.Shortage) *corev1.Shortage {
			return &corev1.Shortage{Device: utf(s.Device), Resource: corev1.Resource(s.Resource) + 1, Want: uint32(s.Want), Have: uint32(s.Have), Pool: s.Pool}
		}),
	}
}

// fault decodes an error. It refuses nothing: an error that is itself wrong must still be told.
func (r remote) fault(p *corev1.Error) *core.Error {
	if p == nil {
		return nil
	}
	e := &core.Error{Code: core.Internal, Reason: core.Reason(p.GetReason()), What: text(p.GetWhat()), Remedy: text(p.GetRemedy())}
	if c := p.GetCode(); c >= corev1.Code(core.Invalid) && c <= corev1.Code(core.Internal) {
		e.Code = core.Code(c)
	}
	if !reasonForm.MatchString(p.GetReason()) {
		e.Reason = r.reason(e.Code)
		if e.Remedy == "" {
			e.Remedy = e.Reason.Remedy()
		}
	}
	for _, s := range p.GetShort()[:min(len(p.GetShort()), maxItems)] {
		if s.GetResource() < 1 || s.GetResource() > corev1.Resource(core.NumResources) || len(s.GetDevice()) > maxDevice {
			continue // of a resource that this release does not know: the text names it
		}
		e.Short = append(e.Short, core.Shortage{
			Device: s.GetDevice(), Resource: core.Resource(s.GetResource() - 1), Pool: s.GetPool(),
			Want: uint16(min(s.GetWant(), math.MaxUint16)), Have: uint16(min(s.GetHave(), math.MaxUint16)),
		})
	}
	return e
}

// What a code means of which no more is known, and what it means of a NIC.
var (
	reasons = map[core.Code]core.Reason{
		core.Invalid: core.BadCall, core.NotFound: core.NotThere, core.Denied: core.NotAllowed, core.Timeout: core.TimedOut,
		core.Unsupported: core.NotSupported, core.Exhausted: core.Overloaded, core.Busy: core.Overloaded,
	}
	nicReasons = map[core.Code]core.Reason{
		core.Exhausted: core.NICShort, core.Busy: core.ServiceBusy, core.Conflict: core.NICConflict,
	}
)

// reason that fits a code of which no more is known.
func (r remote) reason(c core.Code) core.Reason {
	var reason core.Reason
	if r.nic {
		reason = nicReasons[c]
	}
	if c == core.Unavailable {
		reason = r.away
	}
	return cmp.Or(reason, reasons[c], core.InternalFault)
}
