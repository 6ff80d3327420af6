package flux

import (
	"context"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// Exception is the type of the exception by which Weft ends a job, and the name of the event in the job's eventlog that
// has the job's grant.
const Exception = "weft"

// Fail raises an exception of severity 0, which ends the job. Its note is the reason. `flux job attach`, `flux jobs`
// and the job's eventlog show it. Fail leaves a job alone that is over already.
func (p *Plugin) Fail(ctx context.Context, key core.Key, reason string) error {
	return p.raise(ctx, key, 0, core.OneLine(reason, "it cannot run"))
}

// Blame implements core.Blamer: an exception that does not end the job, since the prolog that fails does. `flux job
// attach` shows both.
func (p *Plugin) Blame(ctx context.Context, key core.Key, node, reason string) error {
	return p.raise(ctx, key, 1, core.OneLine("node "+node+": "+reason, "it is at fault"))
}

func (p *Plugin) raise(ctx context.Context, key core.Key, severity int, note string) error {
	id, err := parseID(key.Job)
	if err != nil {
		return err
	}
	err = p.link.call(ctx, "job-manager.raise", broker.AnyNode, object{
		"id": id, "type": Exception, "severity": severity, "note": note,
	}, nil)
	if isFault(err, syscall.ENOENT) {
		return nil
	}
	return p.away("job "+key.JobID.String()+": exception", err)
}
