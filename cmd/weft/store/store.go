// Package store is `weft store`: backups of the server's store, and work on stores that no server uses.
package store

import (
	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
)

func New(o *cli.Options) *cobra.Command {
	return cli.Holder("store", "Back up the server's store, restore, check and copy it",
		newBackup(o), newRestore(), newCheck(), newShow(o), newCopy())
}
