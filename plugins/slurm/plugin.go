package slurm

import (
	"os"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
	"github.com/weft-hpc/weft/poll"
)

// Plugin is the adapter of one Slurm cluster: both halves, of which an agent uses the hooks and a server the rest.
type Plugin struct {
	request.Dialect
	name      string
	settings  settings
	run       command.Runner
	questions *poll.Questions[[]row]
	people    *people.Database
	uid       uint32 // as whom Slurm's commands ask
	cpus      *poll.Kept[supply]
	daemons   func() []stack.Daemon // of Slurm, on this host
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
	p := &Plugin{
		Dialect: dialect, name: name, settings: defaults(), people: people.New(nil), uid: uint32(os.Geteuid()),
		cpus: poll.NewKept[supply](),
	}
	p.run, p.daemons = commands(p.settings), func() []stack.Daemon { return stack.Daemons("/proc") }
	p.questions = poll.NewQuestions(p.jobs)
	return p
}

// NewWith is New with another way to run Slurm's commands, and getent and id: that of a simulated cluster, which root asks. Configure would give it Slurm's own.
func NewWith(name string, run command.Runner) *Plugin {
	p := New(name)
	p.run, p.people, p.uid = run, people.New(run), 0
	return p
}
