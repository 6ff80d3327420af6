package store

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/backup"
	"github.com/weft-hpc/weft/store/record"
)

// source is a store or a backup, to be read.
type source struct {
	name   string
	backup io.ReadCloser // nil: it is a store
	place  place
}

// sourceOf finds out whether arg names a store or a backup.
func sourceOf(arg string) (source, error) {
	if !strings.HasSuffix(arg, ".hcl") {
		in, err := cli.Input(arg)
		if err != nil {
			return source{}, failed("store "+core.Clip(arg), arg, err)
		}
		begin := bufio.NewReaderSize(in, 1<<16)
		head, err := begin.Peek(backup.Begins)
		if arg == "-" || err == nil && backup.Is(head) {
			return source{name: arg, backup: readCloser{begin, in}}, nil
		}
		if err := in.Close(); err != nil {
			return source{}, failed("store "+core.Clip(arg), arg, err)
		}
	}
	p, err := placeOf(arg)
	return source{name: arg, place: p}, err
}

type readCloser struct {
	io.Reader
	io.Closer
}

// check tells the faults of the source, and gives where it was copied to.
func (s source) check(ctx context.Context, tell func(error)) (moved record.Move, err error) {
	if s.place != nil {
		return s.place.check(ctx, tell)
	}
	defer s.backup.Close()
	between := record.Checker{Tell: tell}
	err = backup.Read(s.name, s.backup, func(r engine.Record, _ []byte) error {
		between.Take(r)
		return nil
	})
	if err == nil {
		between.End()
	}
	return moved, err
}

// load tells every record, and gives where the store was copied to.
func (s source) load(ctx context.Context, tell func(engine.Record) error) (moved record.Move, err error) {
	if s.place == nil {
		defer s.backup.Close()
		return moved, backup.Read(s.name, s.backup, func(r engine.Record, _ []byte) error { return tell(r) })
	}
	from, err := s.place.open(ctx)
	if err != nil {
		return moved, err
	}
	return from.Moved(), errors.Join(from.Load(ctx, tell), from.Close())
}

// unused says why no server may use a store that was moved.
func unused(m record.Move) string {
	switch {
	case m.To != "":
		return "; no server may use it: " + core.Flat(m.To) + " has its part now"
	case m.From != "":
		return "; no server may use it: the copy from " + core.Flat(m.From) + " to it has not ended"
	}
	return ""
}
