package hook

import (
	"context"
	"encoding/json"

	"github.com/weft-hpc/weft/core"
)

type notes struct{}

// WithNotes has calls made with the context it gives tell f what is said beside an answer, such as how old it is.
func WithNotes(ctx context.Context, f func(string)) context.Context {
	return context.WithValue(ctx, notes{}, f)
}

// tell hands a note to whom the context names.
func (r Reply) tell(ctx context.Context) {
	if f, ok := ctx.Value(notes{}).(func(string)); ok && r.Note != "" {
		f(r.Note)
	}
}

// Pages calls verb as Call does, for one page after the other, until there is none or each returns an error.
func Pages(ctx context.Context, path, verb string, in any, each func(page json.RawMessage) error) error {
	for cursor := ""; ; {
		reply, err := call(ctx, path, verb, cursor, in)
		if err != nil {
			return err
		}
		if err := each(reply.Body); err != nil {
			return err
		}
		if reply.Next == "" {
			return nil
		}
		if reply.Next == cursor {
			return core.Errorf(core.InternalFault, "%s: its list of %s does not get on: the same page follows itself", path, verb)
		}
		cursor = reply.Next
	}
}

// List gathers all pages of a list whose pages are JSON arrays, as listener.Slice makes them.
func List[T any](ctx context.Context, path, verb string, in any) ([]T, error) {
	all := []T{} // never nil: it is [] in JSON
	err := Pages(ctx, path, verb, in, func(page json.RawMessage) error {
		var some []T
		if err := (Reply{Body: page}).into(path, &some); err != nil {
			return err
		}
		all = append(all, some...)
		return nil
	})
	return all, err
}
