// Package block describes a plugin's block of config.hcl by the variables that hold its values.
package block

import (
	"fmt"
	"path"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Fields are those of one block.
type Fields []Field

// Field is one field of a block and the variable that holds its value.
type Field struct {
	core.Field
	read func(value any) error
}

// Schema is the block as config.hcl is checked against it. Its defaults are the values that the variables hold now.
func (all Fields) Schema() core.Schema {
	var s core.Schema
	for _, f := range all {
		s.Fields = append(s.Fields, f.Field)
	}
	return s
}

// Read puts the values that the block has into the variables. The error is a core.PathError.
func (all Fields) Read(values core.Values) error {
	for _, f := range all {
		value := values[f.Name]
		if value == nil {
			continue
		}
		if err := f.read(value); err != nil {
			return &core.PathError{Path: []string{f.Name}, Err: core.Errorf(core.BadConfig, f.Name+": %w", err)}
		}
	}
	return nil
}

// Value is a field of a kind whose Go type is T. check refuses a value out of the field's range.
func Value[T any](name string, kind core.Kind, to *T, doc string, check func(T) error) Field {
	return Field{core.Field{Name: name, Kind: kind, Default: *to, Doc: doc}, func(value any) error {
		v, ok := value.(T)
		if !ok {
			return fmt.Errorf("%v: it is of the wrong kind", value)
		}
		if err := check(v); err != nil {
			return err
		}
		*to = v
		return nil
	}}
}

// Duration is a field for a time from 1 s to most.
func Duration(name string, to *time.Duration, most time.Duration, doc string) Field {
	return Value(name, core.KindDuration, to, doc, func(v time.Duration) error {
		if v < time.Second || v > most {
			return fmt.Errorf("%s is not from 1s to %s", v, most)
		}
		return nil
	})
}

// Text is a field for a text that check takes, or for none where none is the default.
func Text(name string, to *string, doc string, check func(string) error) Field {
	optional := *to == ""
	return Value(name, core.KindString, to, doc, func(v string) error {
		if v == "" && optional {
			return nil
		}
		return check(v)
	})
}

// Path is a Text that is an absolute path.
func Path(name string, to *string, doc string) Field {
	return Text(name, to, doc, func(v string) error {
		if !path.IsAbs(v) || path.Clean(v) != v {
			return fmt.Errorf("%q is no absolute path", core.Clip(v))
		}
		return nil
	})
}
