package record

import (
	"encoding/binary"
	"time"
)

// coder goes over a record's fields, writing or reading each. After a first fault it reads zeros.
type coder struct {
	reads bool
	out   []byte
	in    []byte
	grown []byte     // the facts written
	facts []numbered // the facts to be read
	bad   string
	names map[string]string
}

// Short strings are made one, up to these bounds.
const (
	maxName  = 64
	maxNames = 1 << 16
)

func (c *coder) fail(why string) {
	if c.bad == "" {
		c.bad = why
	}
	c.in = nil
}

// end is where nothing more may come.
func (c *coder) end() {
	if len(c.in) > 0 {
		c.fail("it goes on after its last field")
	}
}

func (c *coder) varint(v uint64) uint64 {
	if !c.reads {
		c.out = binary.AppendUvarint(c.out, v)
		return v
	}
	if len(c.in) > 0 && c.in[0] < 0x80 {
		v, c.in = uint64(c.in[0]), c.in[1:]
		return v
	}
	v, n := binary.Uvarint(c.in)
	if n <= 0 {
		c.fail("it ends inside a number")
		return 0
	}
	c.in = c.in[n:]
	return v
}

// whole is a number that has no sign.
func whole[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, v *T) {
	n := c.varint(uint64(*v))
	if !c.reads {
		return
	}
	if uint64(T(n)) != n {
		c.fail("a number is too large")
		n = 0
	}
	*v = T(n)
}

// signed is a number that may be negative; small ones of either sign are short.
func signed[T ~int | ~int64](c *coder, v *T) {
	n := c.varint(uint64(int64(*v))<<1 ^ uint64(int64(*v)>>63))
	if c.reads {
		*v = T(int64(n>>1) ^ -int64(n&1))
	}
}

func (c *coder) boolean(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	n = c.varint(n)
	if !c.reads {
		return
	}
	if n > 1 {
		c.fail("a truth value is neither 0 nor 1")
	}
	*v = n == 1
}

// count is that of things to follow, each of at least that many bytes: so a false count cannot make much memory be taken.
func (c *coder) count(n, least int) int {
	m := c.varint(uint64(n))
	if c.reads && m > uint64(len(c.in)/least) {
		c.fail("it is shorter than a count in it says")
		return 0
	}
	return int(m)
}

// bytes is a counted string: it writes v, or gives what it reads.
func (c *coder) bytes(v string) []byte {
	n := c.count(len(v), 1)
	if !c.reads {
		c.out = append(c.out, v...)
		return nil
	}
	b := c.in[:n]
	c.in = c.in[n:]
	return b
}

// own is a string that no other record is likely to have.
func (c *coder) own(v *string) {
	if b := c.bytes(*v); c.reads {
		*v = string(b)
	}
}

// text is a string that other records have too.
func (c *coder) text(v *string) {
	b := c.bytes(*v)
	if !c.reads {
		return
	}
	if len(b) > maxName {
		*v = string(b)
		return
	}
	s, known := c.names[string(b)]
	if !known {
		s = string(b)
		if len(c.names) < maxNames {
			c.names[s] = s
		}
	}
	*v = s
}

// list is a counted list of things that take at least that many bytes each. An empty one is read as nil.
func list[T any](c *coder, v *[]T, least int, form func(*coder, *T)) {
	n := c.count(len(*v), least)
	if c.reads {
		*v = nil
		if n > 0 {
			*v = make([]T, n)
		}
	}
	for i := range *v {
		form(c, &(*v)[i])
	}
}

func (c *coder) texts(v *[]string) { list(c, v, 1, (*coder).text) }

// optional is a thing that may be absent.
func optional[T any](c *coder, v **T, form func(*coder, *T)) {
	there := *v != nil
	c.boolean(&there)
	if c.reads {
		*v = nil
		if there {
			*v = new(T)
		}
	}
	if there {
		form(c, *v)
	}
}

// Seconds from the zero Time to the Unix epoch.
const epoch = 62135596800

// time keeps the instant to the nanosecond; its zone is UTC afterwards.
func (c *coder) time(v *time.Time) {
	sec, nano := v.Unix()+epoch, uint32(v.Nanosecond())
	signed(c, &sec)
	whole(c, &nano)
	if !c.reads {
		return
	}
	if nano >= 1e9 {
		c.fail("a time has too many nanoseconds")
	}
	*v = time.Unix(sec-epoch, int64(nano)).UTC()
}
