package agent

import (
	"log/slog"

	"github.com/weft-hpc/weft/core"
)

// The events of a node's audit; grants and what becomes of them are in the server's.
const (
	auditBypass = "bypass" // hooks or tasks went by without Weft, as root allowed
	auditRefuse = "refuse" // somebody asked for what is another's
)

func newAudit(needs Needs, log *slog.Logger) *slog.Logger {
	if needs.Audit != nil {
		return needs.Audit.With(core.LogNode, needs.Node)
	}
	return log.With(core.LogAudit, true)
}

// auditHook tells of a hook's call that somebody may be asked about later. bypassed says that a task runs without a record because its job is exempt.
func (a *Agent) auditHook(call core.HookCall, ask core.Intent, out core.Outcome, bypassed bool) {
	refused := out.Err != nil && out.Err.Reason == core.NotAllowed
	if !bypassed && !refused {
		return
	}
	right := ""
	if !refused {
		right = call.Peer.Right(ask.UID)
	}
	attrs := append(call.Peer.Audited(call.ID, right), core.LogJob, ask.Key.String(), core.LogPhase, core.Clip(call.Phase))
	if refused {
		a.audit.Info(auditRefuse, append(attrs, core.LogReason, string(out.Err.Reason), core.LogError, out.Err.What)...)
		return
	}
	a.audit.Info(auditBypass, append(attrs, core.LogWhy, "the job is exempt: it was not prepared, and its task runs without isolation of its own")...)
}

// auditBypasses tells of the hooks that went by without an agent, when there were more since it was asked last: each has its own line in the run
// directory's bypass log.
func (a *Agent) auditBypasses() {
	if a.needs.Rundir == "" {
		return
	}
	n, err := a.needs.Rundir.BypassCount()
	if err != nil || n == a.bypasses.Swap(n) || n == 0 {
		return
	}
	a.audit.Info(auditBypass, core.LogCount, n,
		core.LogWhy, "hooks went by without Weft on this node since it started; the bypass log in the run directory has a line for each")
}
