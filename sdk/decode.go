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

// valueTypes are the Go types in which core.Values has the kinds.
var valueTypes = map[core.Kind]reflect.Type{
	core.KindString: reflect.TypeFor[string](), core.KindBool: reflect.TypeFor[bool](), core.KindStrings: stringsType,
	core.KindInt: reflect.TypeFor[int64](), core.KindDuration: durationType,
	core.KindBlocks: reflect.TypeFor[[]core.Values](),
}

func (f field) set(to reflect.Value, value any, path []string) error {
	kind, v := kindOf(to.Type()), reflect.ValueOf(value)
	if v.Type() != valueTypes[kind] {
		return complaint(path, "%v is of the wrong kind", core.Clip(v.Type().String()))
	}
	switch kind {
	case core.KindBlocks:
		return setBlocks(to, value.([]core.Values), path)
	case core.KindInt, core.KindDuration:
		least, most := bounds(to)
		if err := f.within(v.Int(), least, most, kind == core.KindDuration, path); err != nil {
			return err
		}
	default:
	}
	to.Set(v.Convert(to.Type()))
	return nil
}

// bounds are the least and the most of an integer's type.
func bounds(of reflect.Value) (least, most int64) {
	bits := of.Type().Bits()
	if of.CanInt() {
		most = math.MaxInt64 >> (64 - bits)
		return -most - 1, most
	}
	return 0, int64(min(uint64(math.MaxUint64)>>(64-bits), math.MaxInt64)) //nolint:gosec // at most MaxInt64
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
