// Package setup is `weft init`: it puts Weft's hooks into a scheduler.
package setup

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
)

// libexecHook is where packages put weft-hook.
const libexecHook = "/usr/libexec/weft/weft-hook"

func New(o *cli.Options) *cobra.Command {
	return cli.Holder("init", "Install Weft's hooks in a scheduler, or remove them",
		newInitSlurm(o), newInitPBS(o), newInitFlux(o))
}

// findHook is weft-hook as it will be on the nodes: where packages put it, or beside this program.
func findHook() string {
	if _, err := os.Stat(libexecHook); err == nil {
		return libexecHook
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "weft-hook")
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	return libexecHook
}

// absolute gives hook its default where it is empty, and makes it and every other path that is given absolute.
func absolute(hook *string, paths ...*string) error {
	if *hook == "" {
		*hook = findHook()
	}
	for _, path := range append(paths, hook) {
		if *path == "" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return core.Errorf(core.BadCall, "%s: %w", core.Clip(*path), err)
		}
		*path = abs
	}
	return nil
}
