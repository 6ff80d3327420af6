package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// seesAll proves, after an answer of squeue, that slurmctld hid no job from it. With PrivateData=jobs slurmctld leaves
// out the jobs of others and reports no error. It spares root, SlurmUser and AdminLevel Operator or higher
// (_hide_job_user_rec in job_mgr.c and validate_operator in proc_req.c of slurmctld, 26.11). A coordinator of accounts
// sees the jobs of these accounts only. Slurm reads its files again at any time, so each answer needs its own proof.
func (p *Plugin) seesAll(ctx context.Context) error {
	if p.uid == 0 {
		return nil
	}
	text, err := p.run(ctx, "scontrol", "show", "config")
	if err != nil {
		return command.Away(err)
	}
	c := readConfig(string(text))
	private, ok := c["PrivateData"]
	if !ok {
		return core.Errorf(core.SchedulerAway, "scontrol show config: it does not tell PrivateData")
	}
	hidden := slices.ContainsFunc(strings.Split(private, ","), func(s string) bool { return s == "jobs" || s == "all" })
	if !hidden || strings.HasSuffix(c["SlurmUser"], fmt.Sprintf("(%d)", p.uid)) {
		return nil
	}
	who, err := p.people.UID(ctx, p.uid)
	if err != nil {
		return err
	}
	level, err := p.run(ctx, "sacctmgr", "-n", "-P", "show", "user", who.Name, "format=AdminLevel")
	switch strings.TrimSpace(string(level)) {
	case "Operator", "Administrator":
		return nil
	}
	if err != nil {
		level = []byte("unknown")
	}
	return core.Errorf(core.Blind, "scheduler %s: PrivateData=%s hides jobs from user %s, whose AdminLevel is %s", p.name,
		private, who.Name, core.OneLine(string(level), "None")).
		WithRemedy("run `weft server` as root or as SlurmUser, or run `sacctmgr modify user " + who.Name +
			" set adminlevel=Operator`")
}
