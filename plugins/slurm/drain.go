package slurm

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// nodeTable is what is asked of a node. Reason is an administrator's text and comes last.
var nodeTable = table{{"NodeList", 257}, {"StateLong", 33}, {"Reason", 257}}

// slurmsOwn are reasons that slurmctld gives by itself, and that say less than ours.
var slurmsOwn = []string{"Prolog error", "Epilog error", "batch job complete failure", "Kill task failed"}

// Drain takes a node out of service. One that somebody else drained, also without a reason, stays as it is.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	taken := false
	err := p.look(ctx, node, func(state, reason string) {
		taken = taken || strings.Contains(state, "drain") && !slices.Contains(slurmsOwn, reason) && !strings.HasPrefix(reason, core.DrainPrefix)
	})
	if err != nil || taken {
		return err
	}
	return p.command(ctx, "scontrol", "update", "NodeName="+node, "State=DRAIN", "Reason="+core.DrainPrefix+core.OneLine(reason, "its NICs are at fault"))
}

// Resume takes a node back into service that Drain took out of it, and no other. UNDRAIN leaves a node down that is down, where RESUME would not.
func (p *Plugin) Resume(ctx context.Context, node string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	ours := false
	err := p.look(ctx, node, func(state, reason string) {
		ours = ours || strings.Contains(state, "drain") && strings.HasPrefix(reason, core.DrainPrefix)
	})
	if err != nil || !ours {
		return err
	}
	return p.command(ctx, "scontrol", "update", "NodeName="+node, "State=UNDRAIN")
}

// drainTable is what is asked of drained nodes.
var drainTable = table{{"NodeList", 257}, {"User", 65}, {"Timestamp", 33}, {"Reason", 257}}

// Drained lists the nodes that are drained or draining. sinfo shows a node once a partition.
func (p *Plugin) Drained(ctx context.Context) (all []core.Drained, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "sinfo", "-h", "-N", "-t", "drain", "-O", drainTable.format())
	if err != nil {
		return nil, command.Away(err)
	}
	seen := map[string]bool{}
	err = drainTable.parse(text, func(v []string, _ []bool) error {
		if seen[v[0]] {
			return nil
		}
		seen[v[0]] = true
		d := core.Drained{Hosts: v[0], Drain: core.Drain{Reason: v[3]}}
		d.Since, _ = strconv.ParseInt(v[2], 10, 64) // "Unknown" where there is no reason
		if !d.Ours() && v[1] != "Unknown" {
			d.By = v[1]
		}
		all = append(all, d)
		return nil
	})
	if err != nil {
		return nil, core.Errorf(core.SchedulerAway, "sinfo: drained nodes: %w", err)
	}
	return all, nil
}

// Down reports by nil that every state of the node is down. One that is drained or powered off may answer.
func (p *Plugin) Down(ctx context.Context, node string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	down := true
	err := p.look(ctx, node, func(state, _ string) {
		down = down && strings.TrimSuffix(state, "*") == "down"
	})
	if err == nil && !down {
		return core.NotDown(node, p.name)
	}
	return err
}

// look tells each state that the cluster has of a node, and why.
func (p *Plugin) look(ctx context.Context, node string, tell func(state, reason string)) error {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "sinfo", "-h", "-N", "-n", node, "-O", nodeTable.format())
	if err != nil {
		return command.Away(err)
	}
	known := false
	err = nodeTable.parse(text, func(v []string, _ []bool) error {
		known = true
		tell(v[1], v[2])
		return nil
	})
	switch {
	case err != nil:
		return core.Errorf(core.SchedulerAway, "sinfo: node %s: %w", node, err)
	case !known:
		return core.Errorf(core.NotSupported, "node %s: cluster %s has no node of that name", node, p.name)
	}
	return nil
}
