package slurm

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

// Plugin is the adapter of one Slurm cluster: both halves, of which an agent uses the hooks and a server the rest.
type Plugin struct {
	request.Dialect
	name      string
	settings  settings
	run       runner
	questions questions
	groups    groups
}

var (
	_ core.Hooks         = (*Plugin)(nil)
	_ core.Phased        = (*Plugin)(nil)
	_ core.Scheduler     = (*Plugin)(nil)
	_ core.Requeuer      = (*Plugin)(nil)
	_ core.Resumer       = (*Plugin)(nil)
	_ core.Configurable  = (*Plugin)(nil)
	_ core.RequestParser = (*Plugin)(nil)
	_ core.Checker       = (*Plugin)(nil)
)

// New makes the adapter of the scheduler instance name, as config.hcl labels it. Until it is configured it has the defaults of Schema.
func New(name string) *Plugin {
	p := &Plugin{Dialect: dialect, name: name, settings: defaults()}
	p.run = newCommands(p.settings).run
	p.questions.ask = p.jobs
	return p
}

// Runner runs one of Slurm's commands and gives its standard output, whole or not at all.
type Runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// NewWith is New with another way to run Slurm's commands: that of a simulated cluster. Configure would give it Slurm's own.
func NewWith(name string, run Runner) *Plugin {
	p := New(name)
	p.run = runner(run)
	return p
}
