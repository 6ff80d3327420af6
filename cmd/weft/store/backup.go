package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/backup"
)

type backupOptions struct {
	*cli.Options
	store string
	force bool
}

func newBackup(o *cli.Options) *cobra.Command {
	b := &backupOptions{Options: o}
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write the server's store to FILE, while the server runs", Args: cobra.ExactArgs(1),
		Long: `Write the server's store to FILE, while the server runs. Standard output is -.
FILE has the store as it is at one moment. Only its owner can read it, since it
tells who runs what. Root and members of admin_group may do this.

A server with a restored store grants nothing until every node has reported:
see docs/backup.md.`,
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&b.force, "force", false, "replace FILE if it exists")
	cmd.Flags().StringVar(&b.store, "store", "", "read this store, which no server uses, instead of asking the server")
	return cmd
}

func (b *backupOptions) run(ctx context.Context, path string) error {
	if path == "-" {
		if err := cli.Closed(); err != nil {
			return err
		}
		_, err := b.copy(ctx, "on standard output", os.Stdout)
		return failed("backup", path, err)
	}
	if _, err := os.Lstat(path); err == nil && !b.force {
		return core.Errorf(core.BadCall, "backup %s: there is such a file already", core.Clip(path)).
			WithRemedy("name another file, or replace it with --force")
	}
	var got summary
	err := file.Write(path, file.How{Mode: 0o600}, func(w io.Writer) (err error) {
		got, err = b.copy(ctx, path, w)
		return err
	})
	if err != nil {
		return failed("backup "+core.Clip(path), path, err)
	}
	_, err = fmt.Printf("%s has %s\n", core.Flat(path), got)
	return err
}

// failed names the file of an error of the file system, and the remedy.
func failed(what, path string, err error) error {
	if _, ours := errors.AsType[*core.Error](err); ours || err == nil {
		return err
	}
	return core.Errorf(core.StoreFailed, "%s: %w", what, file.Bare(err)).WithRemedy(file.Remedy(path, err))
}

// copy writes a backup to w, and reads it meanwhile: one that is not whole is an error.
func (b *backupOptions) copy(ctx context.Context, name string, w io.Writer) (got summary, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = to.CloseWithError(b.read(ctx, to))
	}()
	wrote := &tee{from: from, to: w}
	err = backup.Read(name, wrote, func(r engine.Record, _ []byte) error {
		got.take(r)
		return nil
	})
	cancel()
	_ = from.Close()
	<-done
	return got, cmp.Or(wrote.err, err)
}

// tee is io.TeeReader that knows whether it failed to write.
type tee struct {
	from io.Reader
	to   io.Writer
	err  error
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		if _, t.err = t.to.Write(p[:n]); t.err != nil {
			return 0, t.err
		}
	}
	return n, err
}

// read writes what the server sends, or a store that no server uses.
func (b *backupOptions) read(ctx context.Context, w io.Writer) error {
	if b.store == "" {
		path, err := b.Socket("")
		if err != nil {
			return err
		}
		return hook.Receive(ctx, path, server.VerbBackup, nil, w)
	}
	p, err := placeOf(b.store)
	if err != nil {
		return err
	}
	s, err := p.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(s.Export(ctx, w), s.Close())
}

// summary is a backup in one line.
type summary struct {
	head  core.Head
	count map[engine.Table]int
}

func (s *summary) take(r engine.Record) {
	if s.count == nil {
		s.count = map[engine.Table]int{}
	}
	s.count[r.Slot().Table]++
	if m, ok := r.(engine.Meta); ok {
		s.head = m.Head
	}
}

func (s summary) String() string {
	if s.head.Store == "" {
		return "an empty store"
	}
	return fmt.Sprintf("store %s at epoch %d revision %d: reservations %d, nodes %d", core.Flat(s.head.Store),
		s.head.Epoch, s.head.Revision, s.count[engine.TableReservation], s.count[engine.TableNode])
}
