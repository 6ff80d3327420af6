package slurm

import (
	"context"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// nodeTable is what is asked of a node. Reason is an administrator's text and comes last.
var nodeTable = table{{"NodeList", 257}, {"StateLong", 33}, {"Reason", 257}}

// slurmsOwn are reasons that slurmctld gives by itself, and that say less than ours.
var slurmsOwn = []string{"", "none", "Prolog error", "Epilog error", "batch job complete failure", "Kill task failed"}

// Drain takes a node out of service. A reason that somebody else gave for it stays.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(asked, "sinfo", "-h", "-N", "-n", node, "-O", nodeTable.format())
	if err != nil {
		return away(err)
	}
	known, taken := false, false
	err = nodeTable.parse(text, func(v []string, _ []bool) error {
		known = true
		taken = taken || strings.Contains(v[1], "drain") && !slices.Contains(slurmsOwn, v[2]) && !strings.HasPrefix(v[2], "weft: ")
		return nil
	})
	switch {
	case err != nil:
		return core.Errorf(core.SchedulerAway, "sinfo: node %s: %w", node, err)
	case !known:
		return core.Errorf(core.NotSupported, "node %s: cluster %s has no node of that name", node, p.name)
	case taken:
		return nil
	}
	return p.command(ctx, "scontrol", "update", "NodeName="+node, "State=DRAIN", "Reason=weft: "+core.OneLine(reason, "its NICs are at fault"))
}
