// Package setup is `weft init`: it puts Weft's hooks into a scheduler.
package setup

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
)

// libexecHook is where packages put weft-hook.
const libexecHook = "/usr/libexec/weft/weft-hook"

func New(o *cli.Options) *cobra.Command {
	return cli.Holder("init", "Put Weft's hooks into a scheduler, or take them out", newInitSlurm(o), newInitPBS(o), newInitFlux(o))
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

// carryOut writes a plan that is to be written.
func carryOut(p interface{ Write() error }, wanted bool) error {
	if wanted {
		if err := p.Write(); err != nil {
			return cli.Exit(cli.ExitFailed, err)
		}
	}
	return nil
}

// shownChange is a change of a plan, as JSON.
type shownChange struct {
	Path  string `json:"path"`
	What  string `json:"what"`
	Text  string `json:"text,omitempty"`
	brief bool   // a person does not need its text
}

// printChanges says what was done, or what would be, with the text of it.
func printChanges(w io.Writer, changes []shownChange, done bool) {
	past := map[string]string{"create": "created", "change": "changed", "remove": "removed"}
	for _, c := range changes {
		if done {
			fmt.Fprintf(w, "%s: %s\n", c.Path, past[c.What])
			continue
		}
		fmt.Fprintf(w, "%s: to %s\n", c.Path, c.What)
		if !c.brief {
			for line := range strings.Lines(c.Text) {
				fmt.Fprint(w, "  | "+line)
			}
		}
	}
}
