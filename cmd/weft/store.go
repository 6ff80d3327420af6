package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/store/bolt"
)

func newStore() *cobra.Command {
	cmd := &cobra.Command{Use: "store", Short: "Export or import the server's store, while the server is down", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(
		&cobra.Command{
			Use: "export STORE", Short: "Write a store's content to standard output", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return exportStore(cmd.Context(), args[0]) },
		},
		&cobra.Command{
			Use: "import STORE", Short: "Make a store of an export on standard input; the server then grants nothing until every node has reported", Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return bolt.Import(args[0], os.Stdin, time.Now()) },
		},
	)
	return cmd
}

func exportStore(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if e := s.Close(); err == nil {
			err = e
		}
	}()
	return s.Export(ctx, os.Stdout)
}
