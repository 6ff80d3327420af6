package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
)

// maxFaults bounds the faults that check prints.
const maxFaults = 100

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check STORE|FILE", Short: "Check a store that no server uses, or a backup", Args: cobra.ExactArgs(1),
		Long: `Check a store that no server uses, or a backup: its checksums, each record, and
what records say of each other. It prints a line for each fault, and exits with
1 where it finds one. It changes nothing.

` + aboutStore,
		RunE: func(cmd *cobra.Command, args []string) error { return check(cmd.Context(), args[0]) },
	}
}

func check(ctx context.Context, arg string) error {
	from, err := sourceOf(arg)
	if err != nil {
		return err
	}
	faults := 0
	moved, err := from.check(ctx, func(err error) {
		if faults++; faults <= maxFaults {
			cli.Complain(errors.New(core.Clip(arg) + ": " + err.Error())) // the last line has the remedy
		}
	})
	switch {
	case err != nil:
		return err
	case faults > 0:
		return core.Errorf(core.StoreCorrupt, "%s: faults: %d", core.Clip(arg), faults)
	}
	_, err = fmt.Printf("%s is sound%s\n", core.Flat(arg), unused(moved))
	return err
}
