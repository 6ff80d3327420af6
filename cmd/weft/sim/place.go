package sim

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
)

// place names simulated NICs: those of a node of `weft dev`, or those of an agent with the driver sim.
type place struct{ node, state string }

func (p *place) flags(o *cli.Options, cmd *cobra.Command) {
	o.NodeFlag(cmd, &p.node, "use the NICs of this node")
	cmd.Flags().StringVar(&p.state, "state", "",
		"use the NICs in this folder: `state` of an agent's driver block, instead of a node of weft dev")
}

func (p place) none() bool { return p.node == "" && p.state == "" }

func (p place) String() string { return cmp.Or(p.node, p.state) }

// folder is that of the NICs.
func (p *place) folder(o *cli.Options) (string, error) {
	switch {
	case p.state != "" && p.node != "":
		return "", cli.Usage("--node and --state: give one of them")
	case p.state != "":
		if info, err := os.Stat(p.state); err != nil || !info.IsDir() {
			return "", core.Errorf(core.NotThere, "state %q: it is not a folder of simulated NICs", core.Clip(p.state)).
				WithRemedy("give `state` of the driver block of the agent's config.hcl")
		}
		return p.state, nil
	}
	_, err := o.Node(p.node)
	return dev.NICs(o.Dir, p.node), err
}
