package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/record"
)

func newCopy() *cobra.Command {
	return &cobra.Command{
		Use: "copy FROM TO", Short: "Let another store take the part of one that no server uses", Args: cobra.ExactArgs(2),
		Long: `Let the store TO take the part of FROM. No server may use them, and TO must be
empty. The copy is compared with FROM. From then on no server starts with FROM.
A copy that was cut off can be run again.

FROM and TO are files, or configurations whose names end in .hcl: then they are
the stores that the configurations name.`,
		RunE: func(cmd *cobra.Command, args []string) error { return copyStore(cmd.Context(), args[0], args[1]) },
	}
}

func copyStore(ctx context.Context, fromArg, toArg string) error {
	from, err := placeOf(fromArg)
	if err != nil {
		return err
	}
	to, err := placeOf(toArg)
	if err != nil {
		return err
	}
	if from.String() == to.String() {
		return core.Errorf(core.BadCall, "copy: %s is both", core.Clip(from.String())).WithRemedy("name another place as TO")
	}
	n, err := moveTo(ctx, from, to)
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%s has the %d records of %s, with which no server starts any more\n",
		core.Flat(to.String()), n, core.Flat(from.String()))
	return err
}

// moveTo gives the number of records. Killed at any point, it leaves at most one store that can be used, and another
// call ends the copy.
func moveTo(ctx context.Context, from, to place) (n int, err error) {
	src, err := from.hold(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if m := src.Moved(); m != (record.Move{To: to.String()}) {
		if err := m.Refused(from.String()); err != nil {
			return 0, err
		}
	}
	err = to.create(ctx, from.String(), func(put func(rec []byte) error) error { return src.Walk(ctx, put) })
	if err != nil {
		return 0, err
	}
	dst, err := to.hold(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if n, err = same(ctx, src, dst); err != nil {
		return 0, err
	}
	if err := src.Move(ctx, record.Move{To: to.String()}); err != nil {
		return 0, err
	}
	return n, dst.Move(ctx, record.Move{})
}

// same compares two stores record by record, and gives their number.
func same(ctx context.Context, a, b held) (int, error) {
	var want [][sha256.Size]byte
	err := a.Walk(ctx, func(rec []byte) error {
		want = append(want, sha256.Sum256(rec))
		return nil
	})
	if err != nil {
		return 0, err
	}
	n := 0
	err = b.Walk(ctx, func(rec []byte) error {
		if n++; n > len(want) || want[n-1] != sha256.Sum256(rec) {
			return core.Errorf(core.StoreCorrupt, "copy: record %d is not as it was", n).WithRemedy("run the copy again")
		}
		return nil
	})
	if err == nil && n < len(want) {
		err = core.Errorf(core.StoreCorrupt, "copy: %d of %d records are there", n, len(want)).
			WithRemedy("run the copy again")
	}
	return n, err
}
