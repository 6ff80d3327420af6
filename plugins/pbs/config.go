package pbs

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/block"
)

// fieldExec is the field of a block `scheduler "pbs" "NAME"` that a remedy names.
const fieldExec = "exec"

// mostBegin is the longest that execjob_begin may wait: the hook file answers PBS within 10 s, whose alarm is 30 s.
const mostBegin = 9 * time.Second

// settings are a block's values.
type settings struct {
	exec    string
	server  string
	every   time.Duration
	begin   time.Duration
	patient time.Duration
}

func defaults() settings {
	return settings{exec: "/opt/pbs", every: 5 * time.Second, begin: 8 * time.Second, patient: 10 * time.Second}
}

func (s *settings) fields() block.Fields {
	return block.Fields{
		block.Path(fieldExec, &s.exec, "PBS_EXEC: the folder whose bin has qstat, qalter, qdel, qrerun and pbsnodes."),
		block.Text("server", &s.server, "The PBS server's host name; empty: the one that pbs.conf of this host names.",
			func(name string) error { return core.CheckName("host", name, core.MaxNodeName) }),
		block.Duration("every", &s.every, 5*time.Minute,
			"How long after an answer qstat is asked again for all jobs, 1s to 5m."),
		block.Duration("begin_timeout", &s.begin, mostBegin,
			"How long execjob_begin may wait for Weft, 1s to 9s. MOM does nothing else meanwhile."),
		block.Duration("command_timeout", &s.patient, time.Minute,
			"How long one of PBS's commands about one job may take, 1s to 1m."),
	}
}

// Schema of a block.
func (p *Plugin) Schema() core.Schema {
	s := defaults()
	return s.fields().Schema()
}

// Configure puts a block in force. It is called before anything else is.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	s := defaults()
	if err := s.fields().Read(values); err != nil {
		return err
	}
	p.settings = s
	if !p.fixed {
		p.run = commands(s, lastAsked())
	}
	return nil
}
