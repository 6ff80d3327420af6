package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/record"
)

const aboutStore = `STORE is a file, or a configuration whose name ends in .hcl: then it is the
store that the configuration names.`

// place is where a store is, or can be made. Its String names it on this host, for years.
type place interface {
	String() string
	// open opens the store to read it.
	open(ctx context.Context) (stored, error)
	// hold opens it for this process alone, also where it was copied elsewhere.
	hold(ctx context.Context) (held, error)
	// create makes it, as bolt.Make does.
	create(ctx context.Context, from string, fill func(put func(rec []byte) error) error) error
	// check tells its faults, as bolt.Check does.
	check(ctx context.Context, tell func(error)) (record.Move, error)
}

// stored is a store that can be read.
type stored interface {
	Load(ctx context.Context, tell func(engine.Record) error) error
	Export(ctx context.Context, w io.Writer) error
	Moved() record.Move
	Close() error
}

// held is a store that this process holds alone.
type held interface {
	stored
	Walk(ctx context.Context, put func(rec []byte) error) error
	Move(ctx context.Context, m record.Move) error
}

// placeOf finds the store that an argument names.
func placeOf(arg string) (place, error) {
	if strings.HasSuffix(arg, ".hcl") {
		return configured(arg)
	}
	return fileAt(arg)
}

// inFile is the path of a store that is a file.
type inFile string

func fileAt(path string) (place, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, failed("store "+core.Clip(path), path, err)
	}
	return inFile(real), nil
}

func (f inFile) String() string { return string(f) }

func (f inFile) open(ctx context.Context) (stored, error) { return f.hold(ctx) }

func (f inFile) hold(context.Context) (held, error) {
	if err := f.there(); err != nil {
		return nil, err
	}
	return bolt.Open(string(f), bolt.Options{Moved: true})
}

func (f inFile) create(_ context.Context, from string, fill func(put func(rec []byte) error) error) error {
	return bolt.Make(string(f), from, fill)
}

func (f inFile) check(_ context.Context, tell func(error)) (record.Move, error) {
	if err := f.there(); err != nil {
		return record.Move{}, err
	}
	return bolt.Check(string(f), tell)
}

func (f inFile) there() error {
	if _, err := os.Stat(string(f)); errors.Is(err, fs.ErrNotExist) {
		return core.Errorf(core.NotThere, "store %s: there is no such file", core.Clip(string(f))).
			WithRemedy("name the file that `server { store }` of config.hcl names; of `weft dev` it is server.db in its --dir")
	}
	return nil
}
