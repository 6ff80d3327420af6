package block_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/block"
)

func TestBlock(t *testing.T) {
	for _, test := range []struct {
		value any
		want  time.Duration // 0: refused
	}{
		{nil, time.Hour}, {time.Second, time.Second}, {time.Minute, time.Minute}, {time.Minute + 1, 0}, {time.Second - 1, 0},
		{"1m", 0},
	} {
		got := time.Hour
		err := block.Fields{block.Duration("f", &got, time.Minute, "")}.Read(core.Values{"f": test.value})
		path, refused := errors.AsType[*core.PathError](err)
		if refused != (test.want == 0) || !refused && got != test.want || refused && path.Path[0] != "f" {
			t.Errorf("%v: %v, %v", test.value, got, err)
		}
	}
	for value, ok := range map[string]bool{"/a/b": true, "a": false, "/a/../b": false, "": false} {
		got := "/before"
		err := block.Fields{block.Path("f", &got, "")}.Read(core.Values{"f": value})
		if (err == nil) != ok || ok && got != value {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	none := ""
	if err := (block.Fields{block.Path("f", &none, "")}).Read(core.Values{"f": ""}); err != nil {
		t.Error(err)
	}
}

func TestSchema(t *testing.T) {
	wait, dir := time.Minute, ""
	fields := block.Fields{block.Duration("wait", &wait, time.Hour, "How long."), block.Path("dir", &dir, "Where.")}
	want := core.Schema{Fields: []core.Field{
		{Name: "wait", Kind: core.KindDuration, Default: time.Minute, Doc: "How long."},
		{Name: "dir", Kind: core.KindString, Default: "", Doc: "Where."},
	}}
	if diff := cmp.Diff(want, fields.Schema()); diff != "" {
		t.Error(diff)
	}
}
