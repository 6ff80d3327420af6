package hook

import (
	"strings"

	"github.com/weft-hpc/weft/core"
)

// most bounds each text of a Fault in bytes, so that an error always fits a frame.
const most = 32 << 10

// Fault is a core.Error in a frame.
type Fault struct {
	Code   string     `json:"code"`
	Reason string     `json:"reason"`
	What   string     `json:"what"`
	Remedy string     `json:"remedy,omitempty"`
	Short  []Shortage `json:"short,omitempty"`
}

// Shortage is a core.Shortage in a frame.
type Shortage struct {
	Device   string `json:"device"`
	Resource string `json:"resource"`
	Want     uint16 `json:"want"`
	Have     uint16 `json:"have"`
	Pool     bool   `json:"pool,omitempty"`
}

// NewFault is err for a frame; what it wraps stays behind. It is nil for nil.
func NewFault(err error) *Fault {
	e := core.AsError(err)
	if e == nil {
		return nil
	}
	f := &Fault{Code: e.Code.String(), Reason: string(e.Reason), What: cut(e.What), Remedy: cut(e.Remedy)}
	for _, s := range e.Short {
		f.Short = append(f.Short, Shortage{Device: s.Device, Resource: s.Resource.String(), Want: s.Want, Have: s.Have, Pool: s.Pool})
	}
	return f
}

// Err is the error again. A reason that this release does not know is kept; a code that it does not know is Internal.
func (f *Fault) Err() *core.Error {
	if f == nil {
		return nil
	}
	e := &core.Error{Code: codeOf(f.Code), Reason: core.Reason(f.Reason), What: f.What, Remedy: f.Remedy}
	for _, s := range f.Short {
		r, err := core.ParseResource(s.Resource)
		if err != nil {
			r = core.NumResources
		}
		e.Short = append(e.Short, core.Shortage{Device: s.Device, Resource: r, Want: s.Want, Have: s.Have, Pool: s.Pool})
	}
	return e
}

func codeOf(name string) core.Code {
	for c := core.Invalid; c < core.Internal; c++ {
		if c.String() == name {
			return c
		}
	}
	return core.Internal
}

func cut(s string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
