package pbs

import (
	"cmp"
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// The fields of a block `scheduler "pbs" "NAME"`.
const (
	fieldExec    = "exec"
	fieldServer  = "server"
	fieldEvery   = "every"
	fieldBegin   = "begin_timeout"
	fieldPatient = "command_timeout"
)

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

// Schema of a block `scheduler "pbs" "NAME"`.
func (p *Plugin) Schema() core.Schema {
	d := defaults()
	return core.Schema{Fields: []core.Field{
		{Name: fieldExec, Kind: core.KindString, Default: d.exec, Doc: "PBS_EXEC: the folder whose bin has qstat, qalter, qdel, qrerun and pbsnodes."},
		{Name: fieldServer, Kind: core.KindString, Default: d.server, Doc: "The PBS server's host name; empty: the one that pbs.conf of this host names."},
		{Name: fieldEvery, Kind: core.KindDuration, Default: d.every, Doc: "How long after an answer qstat is asked again for all jobs, 1s to 5m."},
		{Name: fieldBegin, Kind: core.KindDuration, Default: d.begin, Doc: "How long execjob_begin may wait for Weft, 1s to 9s. MOM does nothing else meanwhile."},
		{Name: fieldPatient, Kind: core.KindDuration, Default: d.patient, Doc: "How long one of PBS's commands about one job may take, 1s to 1m."},
	}}
}

// Configure puts a block in force. It is called before anything else is.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	s := defaults()
	if err := cmp.Or(
		scheduler.Path(values, fieldExec, &s.exec),
		scheduler.Duration(values, fieldEvery, &s.every, 5*time.Minute),
		scheduler.Duration(values, fieldBegin, &s.begin, mostBegin),
		scheduler.Duration(values, fieldPatient, &s.patient, time.Minute),
	); err != nil {
		return err
	}
	if v, _ := values[fieldServer].(string); v != "" {
		if err := core.CheckName(fieldServer, v, core.MaxNodeName); err != nil {
			return &core.PathError{Path: []string{fieldServer}, Err: core.Errorf(core.BadConfig, "%w", err)}
		}
		s.server = v
	}
	p.settings = s
	if !p.fixed {
		p.run = commands(s)
	}
	return nil
}
