package broker

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// line is one recorded message: who sent it, what the recording says of it, and its bytes.
type line struct {
	from  byte
	says  string
	bytes []byte
}

func recorded(t testing.TB) map[string][]line {
	t.Helper()
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil || len(files) != 19+1 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	all := map[string][]line{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var lines []line
		for l := range strings.Lines(string(text)) {
			l = strings.TrimSuffix(l, "\n")
			if rest, ok := strings.CutPrefix(l, "# "); ok {
				lines = append(lines, line{from: rest[0], says: rest[2:]})
				continue
			}
			last := &lines[len(lines)-1]
			b, err := hex.DecodeString(l[2:])
			if err != nil || l[0] != last.from {
				t.Fatalf("%s: %q: %v", f, l, err)
			}
			last.bytes = append(last.bytes, b...)
		}
		all[filepath.Base(f)] = lines
	}
	return all
}

// field is what the recording's words say of a message.
func (l line) field(name string) (string, bool) {
	_, rest, ok := strings.Cut(" "+l.says, " "+name+"=")
	v, _, _ := strings.Cut(rest, " ")
	return v, ok
}

// TestEveryRecordedMessageIsRead decodes all 19 exchanges and holds each message against the words beside it, and writes it again: the same bytes.
func TestEveryRecordedMessageIsRead(t *testing.T) {
	kinds := map[string]Kind{"request": Request, "response": Response, "event": Event}
	seen := map[Kind]int{}
	for name, lines := range recorded(t) {
		if lines[0].from != 'S' || !bytes.Equal(lines[0].bytes, []byte{0}) {
			t.Errorf("%s: it does not begin with the broker's byte", name)
		}
		for i, l := range lines[1:] {
			r := bytes.NewReader(l.bytes)
			m, err := ReadFrame(r)
			if err != nil || r.Len() > 0 {
				t.Fatalf("%s: message %d: %v, %d bytes are left", name, i+1, err, r.Len())
			}
			seen[m.Kind]++
			words := strings.Fields(l.says)
			says := map[string]any{"flags": "0x" + hex.EncodeToString([]byte{byte(m.Flags)}), "routes": strconv.Itoa(len(m.Routes)), "userid": strconv.Itoa(int(int32(m.User))),
				"rolemask": "0x" + strconv.FormatUint(uint64(m.Roles), 16), "matchtag": strconv.Itoa(int(m.Tag())), "topic": strconv.Quote(m.Topic)}
			switch m.Kind {
			case Request:
				says["nodeid"] = strconv.Itoa(int(int32(m.First)))
			case Response:
				says["errnum"] = strconv.Itoa(int(m.Errno()))
			case Event:
				says["seq"] = strconv.Itoa(int(m.First))
			case Control:
				t.Errorf("%s: message %d: no control message was recorded", name, i+1)
			}
			told := map[string]any{}
			for k := range says {
				told[k], _ = l.field(k)
			}
			if diff := cmp.Diff(told, says); diff != "" {
				t.Errorf("%s: message %d: %s", name, i+1, diff)
			}
			if kind := ""; len(words) > 3 {
				for _, w := range words {
					if kinds[w] != 0 {
						kind = w
					}
				}
				if kinds[kind] != m.Kind {
					t.Errorf("%s: message %d: kind %d, recorded as %s", name, i+1, m.Kind, kind)
				}
			}
			_, payload, _ := strings.Cut(l.says, " payload=")
			if want, err := strconv.Unquote(payload); err != nil || want != string(m.Payload) {
				t.Errorf("%s: message %d: payload %q, recorded as %q (%v)", name, i+1, m.Payload, want, err)
			}
			again, err := AppendFrame(nil, m)
			if err != nil || !bytes.Equal(again, l.bytes) {
				t.Errorf("%s: message %d is written as\n%x\nand was\n%x", name, i+1, again, l.bytes)
			}
		}
	}
	if seen[Request] == 0 || seen[Response] == 0 || seen[Event] != 2 {
		t.Errorf("messages by kind: %v", seen)
	}
}

// TestTheClientsHalf makes each request of the recordings as a Conn does, from its topic, rank and JSON: byte for byte what was sent.
func TestTheClientsHalf(t *testing.T) {
	n := 0
	for name, lines := range recorded(t) {
		for i, l := range lines[1:] {
			m, err := ReadFrame(bytes.NewReader(l.bytes))
			if err != nil {
				t.Fatal(err)
			}
			if l.from != 'C' || m.Kind != Request {
				continue
			}
			n++
			var mine *Message
			s := &Stream{topic: strings.TrimSuffix(m.Topic, "-cancel"), node: m.First, tag: 1}
			if s.topic != m.Topic {
				mine = s.cancel()
			} else {
				mine, err = NewRequest(m.Topic, m.First, json.RawMessage(bytes.TrimSuffix(m.Payload, []byte{0})))
				mine.Flags |= m.Flags & FlagStreaming
				mine.Second = m.Tag()
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := AppendFrame(nil, mine)
			if err != nil || !bytes.Equal(got, l.bytes) {
				t.Errorf("%s: message %d is\n%x\nand was\n%x", name, i+1, got, l.bytes)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d requests are in the recordings", n)
	}
}

// TestRecordedFaults: what a response with an errno says.
func TestRecordedFaults(t *testing.T) {
	for name, want := range map[string]Fault{
		"03-journal-nostream-EPROTO.hex": {"job-manager.events-journal", syscall.EPROTO, "job-manager.events requires streaming RPC flag"},
		"17-journal-shutdown.hex":        {"job-manager.events-journal", End, ""},
	} {
		lines := recorded(t)[name]
		m, err := ReadFrame(bytes.NewReader(lines[len(lines)-1].bytes))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, newFault(m)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
