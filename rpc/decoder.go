package rpc

import (
	"context"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/weft-hpc/weft/core"
)

// decoder makes core's values of messages. It keeps the first thing that is wrong, and nobody uses a value of a message
// in which something is wrong.
type decoder struct{ err *core.Error }

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = core.Errorf(core.BadCall, format, args...).WithRemedy("the other side is broken or of another release: `weft version` shows what each is")
	}
}

// check notes err.
func (d *decoder) check(err error) {
	if err != nil {
		d.fail("%w", err)
	}
}

// ready says whether a call may begin: its request is right and somebody still waits for the answer.
func (d *decoder) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return outward(err)
	}
	if d.err != nil {
		return outward(d.err)
	}
	return nil
}

func (d *decoder) u16(what string, v uint32) uint16 {
	if v > math.MaxUint16 {
		d.fail("%s: %d is more than 65535", what, v)
	}
	return uint16(v)
}

// count is a number that core holds as int.
func (d *decoder) count(what string, v uint32) int {
	if v > math.MaxInt32 {
		d.fail("%s: %d is more than %d", what, v, math.MaxInt32)
	}
	return int(v)
}

// fit refuses a text that is longer than most bytes.
func (d *decoder) fit(what, s string, most int) string {
	if len(s) > most {
		d.fail("%s: it has %d bytes and may have %d", what, len(s), most)
	}
	return s
}

// word is a name in somebody else's spelling, which may be empty but not break a line.
func (d *decoder) word(what, s string) string {
	d.fit(what, s, maxWord)
	for _, r := range s {
		if unicode.IsControl(r) || r == utf8.RuneError {
			d.fail("%s %q: the character %q cannot stand there", what, core.Clip(s), r)
			break
		}
	}
	return s
}

func (d *decoder) device(s string) string {
	return d.name("NIC", s, maxDevice)
}

func (d *decoder) name(what, s string, most int) string {
	d.check(core.CheckName(what, s, most))
	return s
}

// anyName is a name that may be left out.
func (d *decoder) anyName(what, s string, most int) string {
	if s == "" {
		return ""
	}
	return d.name(what, s, most)
}

func (d *decoder) bytes(what string, b []byte, most int) []byte {
	if len(b) > most {
		d.fail("%s: it has %d bytes and may have %d", what, len(b), most)
	}
	if len(b) == 0 {
		return nil
	}
	return b
}

// each decodes a list of at most most; an empty one is nil.
func each[P, D any](d *decoder, what string, in []P, most int, one func(P) D) []D {
	if len(in) > most {
		d.fail("%s: there are %d and there may be %d", what, len(in), most)
	}
	if len(in) == 0 || d.err != nil {
		return nil
	}
	out := make([]D, 0, len(in))
	for _, p := range in {
		out = append(out, one(p))
		if d.err != nil {
			return nil
		}
	}
	return out
}
