package server

import (
	"context"
	"iter"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// pageRows bounds the rows of a page, and lookRows those that one look collects: nothing is granted meanwhile, and
// every user may list.
const (
	pageRows = 2048
	lookRows = 256
)

// collect gathers what a page shows, in one look after the other. after gives what comes behind what it has got.
func collect[T any](
	ctx context.Context, s *Server, after func(m *engine.Machine, got []T) iter.Seq[T],
) (got []T, more bool, err error) {
	for more = true; more && len(got) < pageRows; {
		some := make([]T, 0, lookRows)
		err := s.Look(ctx, func(m *engine.Machine) {
			for one := range after(m, got) {
				if some = append(some, one); len(some) == lookRows {
					return
				}
			}
		})
		if err != nil {
			return nil, false, err
		}
		got, more = append(got, some...), len(some) == lookRows
	}
	return got, more, nil
}

// page is listener.Slice of rows that are not the list's last where there are more.
func page[T any](req hook.Request, rows []T, more bool, key func(T) string) (listener.Page, error) {
	p, err := listener.Slice(req, rows, key)
	if err == nil && more && p.Next == "" {
		p.Next = key(rows[len(rows)-1])
	}
	return p, err
}

func badCursor(req hook.Request) error {
	return core.Errorf(core.BadCall, "%s: %q is no place in its list", req.Verb, core.Clip(req.Cursor))
}
