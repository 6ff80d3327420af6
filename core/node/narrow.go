package node

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// show tells a task, or a step, of r its variables.
func (m *Machine) show(r *holding, h Hook) {
	g, err := narrow(r.Grant, h.Ask.Step, h.Ask.Request)
	if err != nil {
		m.refuse(h, err)
		return
	}
	m.reply(h.Call, core.Outcome{
		Action: core.Environment, Key: r.Key, Environment: r.environment(h.Ask.Step, g),
		Warnings: r.allWarnings(), StepWarnings: news(g, h.Ask.Request),
	})
}

// narrow gives a step all of its job's grant, or less where its user asks for less. It refuses a wish that the job's
// grant does not have, and one that needs another service. A step that repeats its job's wishes asks for nothing.
func narrow(g core.Grant, step string, ask core.Request) (core.Grant, *core.Error) {
	if g.Request == nil || ask.Off {
		if ask.Off {
			g.VNIs, g.Steps = nil, 0
		}
		return g, nil
	}
	if what, has := beyond(g, ask); what != "" {
		return g, core.Errorf(core.BadRequest, "job %s: its step %s asks for %s: %s", g.Job, step, what, has).
			WithRemedy("do not ask for it with the step, or ask for it with the job")
	}
	if both := g.Classes & ask.Classes; both != 0 {
		g.Classes = both
	}
	return g, nil
}

// beyond names the first wish of ask that g does not have, and says why the step cannot have it. Empty: there is none.
func beyond(g core.Grant, ask core.Request) (what, why string) {
	job := g.Request
	const shared = "the job's steps share its one service on each NIC"
	switch more := ask.Classes &^ g.Classes; {
	case more != 0 && ask.Classes != job.Classes:
		return "traffic class " + more.String(), "the job has " + cmp.Or(g.Classes.String(), "none")
	case ask.VNIs > len(g.Own()) && ask.VNIs != job.VNIs:
		return fmt.Sprintf("%d VNIs", ask.VNIs), fmt.Sprintf("the job has %d", len(g.Own()))
	case ask.JobVNI && !job.JobVNI && len(g.VNIs) < 2:
		return "a VNI of the whole job", "the job has none beside the application's"
	case ask.SingleNode && !job.SingleNode && len(g.VNIs) == 0:
		return "a VNI", "the job has none"
	case ask.Collectives && !job.Collectives && g.Collective == nil:
		return "collectives", "the job has none"
	case ask.Depth != 0 && ask.Depth != job.Depth:
		return fmt.Sprintf("depth %d", ask.Depth), shared
	case ask.Exact && !job.Exact:
		return "no_adjust_limits", shared
	}
	for i, l := range ask.Limits {
		if !repeats(l.PerCore, job.Limits[i].PerCore) || !repeats(l.Reserved, job.Limits[i].Reserved) ||
			!repeats(l.Max, job.Limits[i].Max) {
			return "a limit of " + core.Resource(i).String(), shared //nolint:gosec // fewer than NumResources
		}
	}
	return "", ""
}

// repeats reports whether one asks for nothing, or for the same.
func repeats(one, same *uint16) bool { return one == nil || same != nil && *one == *same }

// news are the warnings about a step's own options: of those that its job has, too, its user knows.
func news(g core.Grant, ask core.Request) []string {
	return slices.DeleteFunc(slices.Clone(ask.Warnings), func(w string) bool { return slices.Contains(g.Warnings, w) })
}
