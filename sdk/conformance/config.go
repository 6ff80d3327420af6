package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/weft-hpc/weft/core"
)

var configCases = []Case{
	{"its schema is the same when asked again, and has names, kinds and sentences", "K1", OfAll, func(t *T) {
		first, again := t.schema(), t.schema()
		if !reflect.DeepEqual(first, again) {
			t.Errorf("first %+v, then %+v", first, again)
		}
		t.described(first, "")
	}},
	{"it takes its block again, and works as before", "K1", OfAll, func(t *T) {
		t.schema()
		values, err := t.run.values(t.ctx, t.Instance)
		t.must(err, "its block")
		other := t.Another() // the first keeps what its cases made
		was := names(t.ctx, other)
		for range 2 {
			t.should(other.Configure(t.ctx, values), "Configure with the same block")
		}
		if now := names(t.ctx, other); was != now {
			t.Errorf("it had %s and has %s", was, now)
		}
	}},
	{"a value that it refuses is named by its path", "K2", OfAll, func(t *T) {
		schema := t.schema()
		if len(schema.Fields) == 0 {
			t.Skipf("its block has no field")
		}
		values, err := t.run.values(t.ctx, t.Instance)
		t.must(err, "its block")
		other := t.Another()
		refused := 0
		for _, f := range schema.Fields {
			for _, bad := range odd(f.Kind) {
				with := core.Values{f.Name: bad}
				for name, v := range values {
					if name != f.Name {
						with[name] = v
					}
				}
				err := guarded("Configure", func() error { return other.Configure(t.ctx, with) })
				if err == nil {
					continue
				}
				refused++
				path, ok := errors.AsType[*core.PathError](err)
				if !ok || len(path.Path) == 0 || path.Path[0] != f.Name {
					t.Errorf("%s = %.40v: %v: the error names no path to %q, so no administrator sees the line", f.Name, bad, err, f.Name)
				}
			}
		}
		t.should(other.Configure(t.ctx, values), "Configure with its own block after %d refusals", refused)
		if refused == 0 {
			t.Skipf("it refuses no value that was tried")
		}
	}},
	{"what it finds has a severity, words and a mend", "C5", OfAll, func(t *T) {
		if t.Checker == nil {
			t.Skipf("it looks for no trouble by itself")
		}
		found, err := t.Checker.Check(t.ctx)
		t.here("Check", err)
		t.must(err, "Check")
		for _, f := range found {
			if f.What == "" || f.Severity > core.Critical || f.Severity > core.Notice && f.Remedy == "" {
				t.Errorf("finding %+v: it needs words, a severity, and where it is a warning a mend", f)
			}
		}
	}},
}

// schema is the plugin's; the case is skipped where it has none.
func (t *T) schema() core.Schema {
	if t.Schema == nil || t.Configure == nil {
		t.Skipf("it has no block")
	}
	s, err := t.Schema(t.ctx)
	t.unsupported("Schema", err)
	t.must(err, "Schema")
	return s
}

// described checks what an administrator reads of each field.
func (t *T) described(s core.Schema, under string) {
	seen := map[string]bool{}
	for _, f := range s.Fields {
		name := under + f.Name
		switch {
		case f.Name == "" || seen[f.Name]:
			t.Errorf("field %q: each has a name of its own", name)
		case f.Kind < core.KindString || f.Kind > core.KindBlocks:
			t.Errorf("field %q: kind %d does not exist", name, f.Kind)
		case f.Doc == "":
			t.Errorf("field %q: it has no sentence", name)
		}
		seen[f.Name] = true
		t.described(f.Block, name+".")
	}
}

// odd are values that a field of a kind does not expect.
func odd(k core.Kind) []any {
	switch k {
	case core.KindInt:
		return []any{int64(math.MinInt64), int64(math.MaxInt64), "x"}
	case core.KindDuration:
		return []any{time.Duration(math.MinInt64), -time.Second, time.Duration(math.MaxInt64), "x"}
	case core.KindString:
		return []any{int64(7), []string{"x"}}
	case core.KindBool:
		return []any{"yes", int64(2)}
	case core.KindStrings:
		return []any{"x", int64(1)}
	case core.KindBlocks:
		return []any{"x", int64(1)}
	}
	return nil
}

// names are what a driver sees, which its block may decide.
func names(ctx context.Context, i *Instance) string {
	if i.NIC == nil {
		return "no NICs"
	}
	all, err := i.NIC.Devices(ctx)
	out := fmt.Sprintf("%d NICs (%v):", len(all), err)
	for _, d := range all {
		out += " " + d.Name
	}
	return out
}
