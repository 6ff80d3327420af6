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

// hookFailed are reasons that slurmctld gives by itself after a hook failed (slurm_rpc_epilog_complete and
// _slurm_rpc_complete_prolog of proc_req.c, job_complete of job_mgr.c, 22.05.8).
var hookFailed = []string{"Prolog error", "Epilog error", "batch job complete failure"}

// slurmsOwn are all of its reasons that say less than ours.
var slurmsOwn = append([]string{"Kill task failed"}, hookFailed...)

// Drain takes a node out of service. One that somebody else drained, also without a reason, stays as it is. A reason
// with AwayPrefix takes the place of Slurm's own, and no node out of service.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	taken, fails := false, false
	err := p.look(ctx, node, func(state, reason string) {
		drained := strings.Contains(state, "drain")
		taken = taken || drained && !slices.Contains(slurmsOwn, reason) && !strings.HasPrefix(reason, core.DrainPrefix)
		fails = fails || drained && slices.Contains(hookFailed, reason)
	})
	if err != nil || taken || strings.HasPrefix(reason, core.AwayPrefix) && !fails {
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
	seen, slurm := map[string]bool{}, ""
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
		if slices.Contains(hookFailed, d.Reason) && d.By != "" {
			if slurm == "" && d.By != "root" {
				slurm = p.slurmUser(ctx)
			}
			d.Hook = d.By == "root" || d.By == slurm
		}
		all = append(all, d)
		return nil
	})
	if err != nil {
		return nil, core.Errorf(core.SchedulerAway, "sinfo: drained nodes: %w", err)
	}
	return all, nil
}

// slurmUser is SlurmUser, who drains nodes in slurmctld's name; empty: it is not known.
func (p *Plugin) slurmUser(ctx context.Context) string {
	text, err := p.run(ctx, "scontrol", "show", "config")
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(readConfig(string(text))["SlurmUser"], "(")
	return name
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
