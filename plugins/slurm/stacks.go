package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plugins/slurm/install"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

// rebuild is the remedy for a plugin that does not load.
const rebuild = "build it again with the slurm/spank.h of this Slurm: " +
	"`weft init slurm --spank --files --write` writes the source"

// slurmd is a slurmd of this cluster that runs on this host, with the slurm.conf that it reads.
type slurmd struct {
	stack.Daemon
	conf string
}

// slurmds lists the slurmds of this cluster on this host, one for each slurm.conf. c is the controller's configuration.
func (p *Plugin) slurmds(c map[string]string) []slurmd {
	var all []slurmd
	for _, d := range p.daemons() {
		if d.Name != "slurmd" {
			continue
		}
		own := cmp.Or(d.Conf, p.settings.conf, c["SLURM_CONF"])
		if _, err := os.Stat(own); err != nil {
			own = stack.Configless
		}
		if !slices.ContainsFunc(all, func(s slurmd) bool { return s.conf == own }) && !elsewhere(own, c) {
			all = append(all, slurmd{d, own})
		}
	}
	return all
}

// elsewhere reports that a slurm.conf is that of another cluster than c is.
func elsewhere(conf string, c map[string]string) bool {
	return slices.ContainsFunc([]string{"ClusterName", "SlurmctldPort"}, func(key string) bool {
		own := install.Value(conf, key)
		return own != "" && c[key] != "" && !strings.EqualFold(own, c[key])
	})
}

// stacks judges the SPANK plugin of each slurmd that runs on this host. spank says that one of them has it.
func (p *Plugin) stacks(ctx context.Context, here []slurmd) (spank bool, all []core.Finding) {
	for _, d := range here {
		has, found := p.stack(ctx, d.Daemon, d.conf)
		spank, all = spank || has, append(all, found...)
	}
	return spank, all
}

// stack judges the SPANK plugin of one slurmd.
func (p *Plugin) stack(ctx context.Context, d stack.Daemon, conf string) (bool, []core.Finding) {
	var all []core.Finding
	add := func(s core.Severity, what, evidence, remedy string) {
		all = append(all, core.Finding{Severity: s, What: what, Evidence: evidence, Remedy: remedy})
	}
	path, settings, err := install.Stacked(conf)
	if err != nil {
		return false, nil // the hooks are judged by the controller's word
	}
	s, err := stack.Read(path)
	if err != nil {
		add(core.Warning, "plugstack.conf cannot be read", err.Error(), "mend it: Slurm reads it too")
		return false, all
	}
	lines := slices.DeleteFunc(s.Loads(stack.File), func(l stack.Line) bool {
		name := argument(l, "scheduler", "slurm")
		return name != p.name && name != "slurm"
	})
	for _, l := range s.Ignored {
		severity := core.Warning
		if len(lines) == 0 && strings.Contains(l.Plugin, stack.File) {
			severity = core.Critical
		}
		add(severity, "Slurm passes over a line of plugstack.conf", place(l)+": "+l.Plugin, "begin the line with `required`")
	}
	for _, l := range lines {
		fault, evidence, remedy := p.loads(ctx, d, l, settings)
		if fault != "" {
			add(core.Critical, fault, place(l)+": "+evidence, remedy)
		} else {
			add(core.Good, "the SPANK plugin loads", place(l)+": "+evidence, "")
		}
	}
	return len(lines) > 0, all
}

func place(l stack.Line) string { return fmt.Sprintf("%s:%d", l.File, l.Number) }

// argument is the value of an argument NAME=VALUE of a line. The last one counts.
func argument(l stack.Line, name, without string) string {
	for _, a := range l.Args {
		if value, ok := strings.CutPrefix(a, name+"="); ok {
			without = value
		}
	}
	return without
}

// loads proves that a line lets tasks have their network. It returns the fault, or "", with its evidence and remedy.
func (p *Plugin) loads(
	ctx context.Context, d stack.Daemon, l stack.Line, settings []string,
) (fault, evidence, remedy string) {
	const no = "slurmd does not load the SPANK plugin, so no step starts"
	built, err := stack.Built(l.Plugin)
	if err != nil {
		e := core.AsError(err)
		return "the SPANK plugin cannot be used", e.What, cmp.Or(e.Remedy, rebuild)
	}
	evidence = fmt.Sprintf("%s was built for Slurm %s", l.Plugin, built)
	runs := d.Release(ctx)
	if runs != 0 {
		evidence += fmt.Sprintf("; slurmd (process %d) is %s", d.PID, runs)
		if runs.Major() != built.Major() {
			return no, evidence, rebuild
		}
	}
	switch r, err := stack.Prove(ctx, p.settings.bin, l.Plugin, settings); {
	case err == nil && runs != 0 && r.Major() != runs.Major():
		return "slurmd and Slurm's commands are of different releases",
			fmt.Sprintf("%s; sbatch in %s is %s", evidence, p.settings.bin, r),
			"set `" + fieldBin + "` in config.hcl to the folder of this Slurm's commands, or restart slurmd"
	case err == nil:
		evidence += fmt.Sprintf("; sbatch %s has loaded it", r)
	case !missing(p.settings.bin) && core.AsError(err).Reason == core.BadConfig:
		return no, err.Error(), rebuild
	}
	if !l.Required {
		return "tasks start without their network where the SPANK plugin fails", evidence,
			"write `required` in the place of `optional`"
	}
	if strange := unknown(l); strange != "" {
		return "weft.so does not understand its line, so no step starts",
			strange + ": it has no such argument, or it is out of range", "correct the line that is named"
	}
	run := argument(l, "run", "/run/weft/agent")
	if _, err := os.Stat(filepath.Join(run, "root.sock")); err != nil {
		return "no agent answers the SPANK plugin, so no step starts", "run=" + run + ": " + file.Bare(err).Error(),
			"start the agent, or give the line the agent's `dir` of config.hcl as run="
	}
	hook := argument(l, "hook", "/usr/bin/weft-hook")
	if info, err := os.Stat(hook); err != nil || info.Mode()&0o111 == 0 {
		return "the SPANK plugin does not find weft-hook: no step starts while the agent restarts", "hook=" + hook,
			"give the line the path of weft-hook as hook="
	}
	return "", evidence, ""
}

// unknown is the first argument of a line that weft.so refuses; "" where it takes all (slurm_spank_init_post_opt).
func unknown(l stack.Line) string {
	for _, a := range l.Args {
		name, value, is := strings.Cut(a, "=")
		switch name {
		case "scheduler", "run", "hook":
		case "timeout":
			var s int // as atoi reads it: 60s is 60
			_, err := fmt.Sscanf(value, "%d", &s)
			is = is && err == nil && s > 0 && s <= 3600
		default:
			is = false
		}
		if !is {
			return a
		}
	}
	return ""
}

// missing reports that Slurm's commands are not on this node, which needs none for the plugin.
func missing(bin string) bool {
	_, err := os.Stat(filepath.Join(bin, "sbatch"))
	return errors.Is(err, os.ErrNotExist)
}
