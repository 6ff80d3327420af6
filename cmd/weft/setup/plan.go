package setup

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/plan"
)

// mode says whether a plan is only shown, is written, or takes out again what was written.
type mode struct{ write, remove bool }

func (m *mode) flags(cmd *cobra.Command, write, remove string) {
	cmd.Flags().BoolVar(&m.write, "write", false, write)
	cmd.Flags().BoolVar(&m.remove, "remove", false, remove)
}

func (m mode) check(cmd *cobra.Command) error {
	if m.write && m.remove {
		return cli.Misuse(cmd, "init %s: give one of --write and --remove", cmd.Name())
	}
	return nil
}

// carryOut writes a plan where the mode says so, and prints it: a person gets the guide too, and JSON the lists of s.
func carryOut(o *cli.Options, scheduler string, p plan.Plan, m mode, g guide, s shown) error {
	if s.Done = (m.write || m.remove) && !p.Refused(); s.Done {
		if err := p.Write(); err != nil {
			return cli.Exit(cli.ExitFailed, err)
		}
	}
	s.add(p)
	if err := cli.Print(o, s, func(w io.Writer, s shown) { s.print(w, g) }); err != nil {
		return err
	}
	if p.Refused() {
		return cli.Exit(cli.ExitFailed, fmt.Errorf("init %s: %s; nothing was changed", scheduler, refusals(p)))
	}
	return nil
}
