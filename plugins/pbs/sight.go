package pbs

import (
	"context"
	"regexp"
	"slices"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs/install"
)

var queryOthers = regexp.MustCompile(`(?m)^\s*query_other_jobs = True\s*$`)

// living is pbs_server's count of jobs that have nodes.
var living = regexp.MustCompile(`(?m)^\s*state_count = .*\b(?:Running|Exiting):[1-9]`)

// seesAll proves, after an answer of qstat, that pbs_server hid no job from it. Unless query_other_jobs is True,
// pbs_server leaves out the jobs of others and reports no error (stat_job.c, OpenPBS of April 2026). It spares root on
// its own host (svr_get_privilege in svr_chk_owner.c), managers and operators. It shows euser only to managers, and
// hooks only to that root (process_request.c), so one of both proves who asks.
func (p *Plugin) seesAll(ctx context.Context, jobs []row) error {
	if slices.ContainsFunc(jobs, func(r row) bool { return r.user != "" }) {
		return nil
	}
	text, err := p.run(ctx, "qstat", "-B", "-f")
	if err != nil {
		return command.Away(err)
	}
	if !queryOthers.Match(text) {
		if _, err := install.Ask(ctx, p.Qmgr); err != nil {
			return core.Errorf(core.Blind,
				"scheduler %s: query_other_jobs is not True, and PBS does not take Weft for root: %w", p.name, err).
				WithRemedy("run `qmgr -c 'set server query_other_jobs = True'`, or run `weft server` as root on pbs_server's host")
		}
	}
	if len(jobs) == 0 && living.Match(text) {
		return core.Errorf(core.SchedulerAway, "qstat: it lists no job, and pbs_server counts some that run")
	}
	return nil
}
