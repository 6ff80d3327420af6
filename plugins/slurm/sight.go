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
//
// The level is slurmctld's own. After a change the database has another one until slurmctld learns of it, and Slurm
// hides jobs until then. On 22.05.8 this lasted after slurmctld had been down at the change.
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
	text, err = p.run(ctx, "scontrol", "-o", "show", "assoc_mgr", "users="+who.Name, "flags=users")
	level := "unknown" // without slurmdbd, slurmctld has no levels and answers with an error
	if err == nil {
		level = adminLevel(string(text), p.uid)
	}
	if level == "Operator" || level == "Administrator" {
		return nil
	}
	return core.Errorf(core.Blind, "scheduler %s: PrivateData=%s hides jobs from user %s, whose AdminLevel is %s", p.name,
		private, who.Name, core.OneLine(level, "None")).
		WithRemedy("run `weft server` as root, or run `sacctmgr modify user " + who.Name +
			" set adminlevel=Operator`")
}

// adminLevel finds the level of a user in the records of slurmctld's association manager; empty: it has no such user.
func adminLevel(text string, uid uint32) string {
	for line := range strings.Lines(text) {
		user, rest, _ := strings.Cut(line, " ")
		if strings.HasPrefix(user, "UserName=") && strings.HasSuffix(user, fmt.Sprintf("(%d)", uid)) {
			_, level, _ := strings.Cut(rest, "AdminLevel=")
			level, _, _ = strings.Cut(strings.TrimSpace(level), " ")
			return level
		}
	}
	return ""
}
