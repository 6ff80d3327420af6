package store

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/backup"
)

func newRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE STORE", Short: "Make a store from a backup", Args: cobra.ExactArgs(2),
		Long: `Make a store from a backup. Standard input is -. No server may use STORE, and
it must be empty. The server of the new store grants nothing until every node
has reported: see docs/backup.md.

` + aboutStore,
		RunE: func(cmd *cobra.Command, args []string) error { return restore(cmd.Context(), args[0], args[1]) },
	}
}

func restore(ctx context.Context, from, arg string) error {
	to, err := placeOf(arg)
	if err != nil {
		return err
	}
	in, err := cli.Input(from)
	if err != nil {
		return failed("backup "+core.Clip(from), from, err)
	}
	defer in.Close()
	name := from
	if from == "-" {
		name = "on standard input"
	}
	err = to.create(ctx, "", func(put func(rec []byte) error) error { return backup.Restore(name, in, time.Now(), put) })
	if err != nil {
		return err
	}
	_, err = fmt.Printf("store %s is made; its server grants nothing until every node has reported (`weft nodes`)\n",
		core.Flat(to.String()))
	return err
}
