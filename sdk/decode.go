package sdk

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/weft-hpc/weft/core"
)

func decode(values core.Values, v reflect.Value, path []string) error {
	known := map[string]bool{}
	for _, f := range fieldsOf(v.Type()) {
		known[f.name] = true
		value, ok := values[f.name]
		if !ok || value == nil {
			continue
		}
		if err := f.set(v.Field(f.index), value, append(slices.Clone(path), f.name)); err != nil {
			return err
		}
	}
	for name := range values {
		if !known[name] {
			return complaint(append(slices.Clone(path), name), "there is no such setting")
		}
	}
	return nil
}

func (f field) set(to reflect.Value, value any, path []string) error {
	kind := kindOf(to.Type())
	ok := true
	switch kind {
	case core.KindString:
		var s string
		if s, ok = value.(string); ok {
			to.SetString(s)
		}
	case core.KindBool:
		var b bool
		if b, ok = value.(bool); ok {
			to.SetBool(b)
		}
	case core.KindStrings:
		var s []string
		if s, ok = value.([]string); ok {
			to.Set(reflect.ValueOf(s))
		}
	case core.KindDuration:
		var d time.Duration
		if d, ok = value.(time.Duration); ok {
			if err := f.within(int64(d), math.MinInt64, math.MaxInt64, true, path); err != nil {
				return err
			}
			to.SetInt(int64(d))
		}
	case core.KindInt:
		var n int64
		if n, ok = value.(int64); ok {
			return f.setInt(to, n, path)
		}
	case core.KindBlocks:
		var blocks []core.Values
		if blocks, ok = value.([]core.Values); ok {
			return setBlocks(to, blocks, path)
		}
	}
	if !ok {
		return complaint(path, "%v is of the wrong kind", core.Clip(reflect.TypeOf(value).String()))
	}
	return nil
}

func (f field) setInt(to reflect.Value, n int64, path []string) error {
	if to.CanInt() {
		most := int64(math.MaxInt64) >> (64 - to.Type().Bits())
		if err := f.within(n, -most-1, most, false, path); err != nil {
			return err
		}
		to.SetInt(n)
		return nil
	}
	most := min(uint64(math.MaxUint64)>>(64-to.Type().Bits()), math.MaxInt64)
	if err := f.within(n, 0, int64(most), false, path); err != nil {
		return err
	}
	to.SetUint(uint64(n))
	return nil
}

// within holds a number to its type's bounds and to those of its tags.
func (f field) within(n, least, most int64, duration bool, path []string) error {
	if f.min != nil {
		least = max(least, *f.min)
	}
	if f.max != nil {
		most = min(most, *f.max)
	}
	if n >= least && n <= most {
		return nil
	}
	show := func(n int64) string {
		if duration {
			return time.Duration(n).String()
		}
		return strconv.FormatInt(n, 10)
	}
	return complaint(path, "%s: it must be %s to %s", show(n), show(least), show(most))
}

func setBlocks(to reflect.Value, blocks []core.Values, path []string) error {
	all := reflect.MakeSlice(to.Type(), len(blocks), len(blocks))
	for i, block := range blocks {
		if to.Len() > 0 {
			all.Index(i).Set(to.Index(0)) // the defaults, as SchemaOf has them
		}
		if err := decode(block, all.Index(i), append(slices.Clone(path), strconv.Itoa(i))); err != nil {
			return err
		}
	}
	to.Set(all)
	return nil
}

// complaint is about the value at path; the host shows its line of config.hcl.
func complaint(path []string, format string, args ...any) error {
	return &core.PathError{Path: path, Err: core.Errorf(core.BadConfig, path[len(path)-1]+": "+format, args...)}
}
