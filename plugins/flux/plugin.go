package flux

import (
	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/poll"
)

// Plugin is the adapter of one Flux instance: both halves, of which an agent uses the hooks, and a server, or the agent of a broker's host, the rest.
type Plugin struct {
	request.Dialect
	name     string
	settings settings
	link     *link
	people   *people.Database
	cores    *poll.Kept[int]
}

var (
	_ core.Hooks         = (*Plugin)(nil)
	_ core.Phased        = (*Plugin)(nil)
	_ core.Scheduler     = (*Plugin)(nil)
	_ core.Annotator     = (*Plugin)(nil)
	_ core.Requeuer      = (*Plugin)(nil)
	_ core.Blamer        = (*Plugin)(nil)
	_ core.Downer        = (*Plugin)(nil)
	_ core.DrainLister   = (*Plugin)(nil)
	_ core.Resumer       = (*Plugin)(nil)
	_ core.Configurable  = (*Plugin)(nil)
	_ core.RequestParser = (*Plugin)(nil)
	_ core.Checker       = (*Plugin)(nil)
)

// New makes the adapter of the scheduler instance name, as config.hcl labels it. Until it is configured it has the defaults of Schema.
func New(name string) *Plugin { return NewWith(name, nil) }

// NewWith is New with another way to run getent and id: that of a simulated host.
func NewWith(name string, run command.Runner) *Plugin {
	p := &Plugin{Dialect: dialect, name: name, settings: defaults(), people: people.New(run), cores: poll.NewKept[int]()}
	p.link = newLink(p.dial)
	return p
}
