// Package store is `weft store`: exports and imports of the server's store.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/bolt"
)

func New() *cobra.Command {
	return cli.Holder("store", "Export or import the server's store, while the server is down",
		&cobra.Command{
			Use: "export STORE", Short: "Write a store's content to standard output", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return exportStore(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use: "import STORE", Short: "Make a store from an export on standard input", Args: cobra.ExactArgs(1),
			Long: `Make a store from an export on standard input. The server of the new store
grants nothing until every node has reported.`,
			RunE: func(_ *cobra.Command, args []string) error {
				if err := bolt.Import(args[0], os.Stdin, time.Now()); err != nil {
					return err
				}
				_, err := fmt.Printf("store %s is made; its server grants nothing until every node has reported (`weft nodes`)\n", args[0])
				return err
			},
		},
	)
}

func exportStore(ctx context.Context, path string) (err error) {
	if err := cli.Closed(); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return core.Errorf(core.NotThere, "store %s: there is no such file", core.Clip(path)).WithRemedy("name the file that `server { store }` of config.hcl names; of `weft dev` it is server.db in its --dir")
	}
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Export(ctx, os.Stdout)
}
