package pbs

import (
	"context"
	"errors"
	"strings"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// Fail ends a job that cannot have what it asked for. The reason becomes the job's comment, which qstat -f shows, also
// of finished jobs where PBS keeps a history, and a line of its standard error where the job has begun. A run that is
// over already, or another run of the job, is left alone. So is a job that begins: its own execjob_begin ends it or sends
// it back, and MOM, who waits for that hook, hears nothing else.
func (p *Plugin) Fail(ctx context.Context, key core.Key, reason string) error {
	return p.end(ctx, key, reason, "qdel")
}

// Requeue puts a job back into the queue that Weft could not serve, with the reason as its comment. One that may not run twice (qsub -r n) is ended.
func (p *Plugin) Requeue(ctx context.Context, key core.Key, reason string) error {
	return p.end(ctx, key, reason, "qrerun")
}

func (p *Plugin) end(ctx context.Context, key core.Key, reason, by string) error {
	r, err := p.job(ctx, key.Job)
	if r == nil || err != nil {
		return err
	}
	waits := by == "qdel" && stateOf(r.state) == core.JobQueued && r.runs+1 == key.Generation // runjob refused its next run
	if !waits && (r.runs != key.Generation || !r.lives() || r.substate == prerun) {
		return nil
	}
	if by == "qrerun" && !r.rerunable {
		by = "qdel"
	}
	text := "weft: " + core.OneLine(reason, "it cannot run")
	// That the reason cannot be left is no reason to let the job run.
	_ = p.command(ctx, "qalter", "-W", "comment="+quoted(text), r.id)
	if !waits {
		_ = p.command(ctx, "qmsg", "-E", text, r.id)
	}
	return p.command(ctx, by, r.id)
}

const beManager = "make root on this host a manager of PBS: qmgr -c 'set server managers += root@HOST'"

// quoted makes one value of qalter -W's list of names and values, which commas part.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, "'") + `"` }

// command runs one that changes something. That a job is over already is what was wanted.
func (p *Plugin) command(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	_, err := p.run(ctx, name, args...)
	if over(err) {
		return nil
	}
	if f, ok := errors.AsType[*command.Failure](err); ok && strings.Contains(f.Says, "Unauthorized") {
		return core.Errorf(core.NotAllowed, "%w", f).WithRemedy(beManager)
	}
	return command.Away(err)
}
