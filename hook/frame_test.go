package hook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"testing"
)

func FuzzReadFrame(f *testing.F) {
	for _, b := range []string{"", "\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x02{}", "\x00\x00\x00\x02{}x", "\xff\xff\xff\xff", "\x00\x01\x00\x01{"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 128 << 10
		r := bytes.NewReader(in)
		body, err := ReadFrame(r, limit)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, ErrOversized) {
				t.Errorf("an error of another kind: %v", err)
			}
			if errors.Is(err, io.EOF) != (len(in) == 0) {
				t.Errorf("%d bytes are %v", len(in), err)
			}
			return
		}
		n := int(binary.BigEndian.Uint32(in))
		if !bytes.Equal(body, in[header:header+n]) || r.Len() != len(in)-header-n {
			t.Errorf("a frame of %d bytes was read as %d", n, len(body))
		}
		var req Request
		if decode(body, &req) != nil {
			return
		}
		out, err := Frame(req, limit*8)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadFrame(bytes.NewReader(out), limit*8)
		if err != nil {
			t.Fatal(err)
		}
		var twice Request
		if err := json.Unmarshal(again, &twice); err != nil || twice.Verb != req.Verb || twice.ID != req.ID || twice.Began != req.Began {
			t.Errorf("%+v became %+v, %v", req, twice, err)
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"version":1,"error":{"code":"busy","reason":"service-busy","what":"w","short":[{"device":"cxi0","resource":"les","want":1}]}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var r Reply
		if decode(in, &r) != nil {
			return
		}
		e := r.Error.Err()
		if e == nil {
			return
		}
		_ = e.Scope().String() + e.Line()
		if twice := NewFault(e).Err(); twice.Code != e.Code || twice.Reason != e.Reason || len(twice.Short) != len(e.Short) {
			t.Errorf("%+v became %+v", e, twice)
		}
	})
}
