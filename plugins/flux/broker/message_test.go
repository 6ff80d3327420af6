package broker

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func frame(n uint32, rest string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, magic)
	b = binary.BigEndian.AppendUint32(b, n)
	return append(b, rest...)
}

const proto = "\x14\x8e\x01\x01\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"

func TestMessagesThatAreNone(t *testing.T) {
	for name, b := range map[string][]byte{
		"RFC 3's magic":               append([]byte{0xff, 0xee, 0x00, 0x12}, frame(21, proto)[4:]...),
		"too long by its own word":    frame(MaxMessage+1, proto),
		"shorter than it says":        frame(100, proto),
		"empty":                       frame(0, ""),
		"no header":                   frame(3, "\x02hi"),
		"another version":             frame(21, strings.Replace(proto, "\x8e\x01", "\x8e\x02", 1)),
		"an unknown kind":             frame(21, strings.Replace(proto, "\x8e\x01\x01", "\x8e\x01\x03", 1)),
		"a part beyond the end":       frame(3, "\xfehi"),
		"a long part beyond the end":  frame(7, "\xff\xff\xff\xff\xffhi"),
		"a long part that is short":   frame(26, "\xff\x00\x00\x00\x00"+proto),
		"half a length":               frame(3, "\xff\x00\x00"),
		"a part too many":             frame(24, "\x02hi"+proto),
		"a topic too few":             frame(21, strings.Replace(proto, "\x8e\x01\x01\x00", "\x8e\x01\x01\x01", 1)),
		"routes without an end":       frame(24, "\x02hi"+strings.Replace(proto, "\x8e\x01\x01\x00", "\x8e\x01\x01\x08", 1)),
		"a topic with a NUL in it":    frame(25, "\x03h\x00i"+strings.Replace(proto, "\x8e\x01\x01\x00", "\x8e\x01\x01\x01", 1)),
		"a topic with two at its end": frame(25, "\x03h\x00\x00"+strings.Replace(proto, "\x8e\x01\x01\x00", "\x8e\x01\x01\x01", 1)),
		"routes without number":       frame(21+200, strings.Repeat("\x01a", 100)+proto),
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := ReadFrame(bytes.NewReader(b)); err == nil {
				t.Errorf("it is read as %+v", m)
			}
		})
	}
}

// TestALengthIsNotBelieved: a frame that claims 128 MiB and holds nothing costs next to nothing.
func TestALengthIsNotBelieved(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, err := ReadFrame(bytes.NewReader(frame(MaxMessage, "\xff\x07\xff\xff\xff"))); err == nil {
			t.Fatal("it is read")
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("100 frames that hold nothing took %d bytes", n)
	}
}

func TestATopicMayEndInNUL(t *testing.T) {
	b := frame(25, "\x03hi\x00"+strings.Replace(proto, "\x8e\x01\x01\x00", "\x8e\x01\x01\x01", 1))
	if m, err := ReadFrame(bytes.NewReader(b)); err != nil || m.Topic != "hi" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestWhatIsWrittenIsRead draws messages, their parts around the lengths at which the form of a length changes.
func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Message{
			Kind: rapid.SampledFrom([]Kind{Request, Response, Event, Control}).Draw(t, "kind"), Flags: Flags(rapid.Byte().Draw(t, "flags")),
			User: rapid.Uint32().Draw(t, "user"), Roles: Roles(rapid.Uint32().Draw(t, "roles")), First: rapid.Uint32().Draw(t, "first"), Second: rapid.Uint32().Draw(t, "second"),
		}
		if m.Flags&FlagTopic != 0 {
			m.Topic = rapid.StringMatching(`[a-z.-]{0,40}`).Draw(t, "topic")
		}
		if m.Flags&FlagPayload != 0 {
			m.Payload = bytes.Repeat([]byte{7}, rapid.IntRange(0, 600).Draw(t, "payload"))
		}
		if m.Flags&FlagRoute != 0 {
			m.Routes = rapid.SliceOfN(rapid.StringMatching(`[0-9a-f-]{1,300}`), 0, 8).Draw(t, "routes")
		}
		b, err := AppendFrame(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadFrame(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Routes) == 0 {
			m.Routes = nil
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	for _, lines := range recorded(f) {
		for _, l := range lines {
			f.Add(l.bytes)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := AppendFrame(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadFrame(bytes.NewReader(again))
		if err != nil {
			t.Fatalf("what was written of it is not read: %v", err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Error(diff)
		}
	})
}

func TestURIs(t *testing.T) {
	for _, test := range []struct {
		given string
		want  string // "": refused
	}{
		{SystemURI, "/run/flux/local"},
		{"local:///a/b", "/a/b"},
		{"local:///a/../b?x=y", "/b"},
		{"ssh://host/run/flux/local", ""},
		{"local://run/flux", ""},
		{"local://", ""},
		{"local:///" + strings.Repeat("a", 120), ""},
		{"local:///a\x00b", ""},
	} {
		got, err := Path(test.given)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%q: %q, %v", test.given, got, err)
		}
	}
}
