package pbs

import (
	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/poll"
)

// Plugin is the adapter of one PBS complex: both halves, of which an agent uses the hooks and a server the rest.
type Plugin struct {
	request.Dialect
	name     string
	settings settings
	run      command.Runner
	fixed    bool // run is not PBS's own commands, and no block changes that
	people   *people.Database
	hosts    *poll.Kept[host]

	questions *poll.Questions[*row]
}

var (
	_ core.Hooks         = (*Plugin)(nil)
	_ core.Phased        = (*Plugin)(nil)
	_ core.Scheduler     = (*Plugin)(nil)
	_ core.Requeuer      = (*Plugin)(nil)
	_ core.Downer        = (*Plugin)(nil)
	_ core.DrainLister   = (*Plugin)(nil)
	_ core.Resumer       = (*Plugin)(nil)
	_ core.Configurable  = (*Plugin)(nil)
	_ core.RequestParser = (*Plugin)(nil)
	_ core.Checker       = (*Plugin)(nil)
)

// New makes the adapter of the scheduler instance name, as config.hcl labels it. Until it is configured it has the defaults of Schema.
func New(name string) *Plugin {
	p := NewWith(name, nil)
	p.run, p.fixed = commands(p.settings, lastAsked()), false
	return p
}

// NewWith is New with another way to run PBS's commands, and getent and id: that of a simulated complex.
func NewWith(name string, run command.Runner) *Plugin {
	p := &Plugin{
		Dialect: dialect, name: name, settings: defaults(), run: run, fixed: true, people: people.New(run),
		hosts: poll.NewKept[host](),
	}
	p.questions = poll.NewQuestions(p.some)
	return p
}
