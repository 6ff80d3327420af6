package slurm

import (
	"cmp"
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// The fields of a block `scheduler "slurm" "NAME"`.
const (
	fieldBin     = "bin"
	fieldConf    = "conf"
	fieldEvery   = "every"
	fieldProlog  = "prolog_timeout"
	fieldPatient = "command_timeout"
)

// settings are a block's values.
type settings struct {
	bin     string
	conf    string
	every   time.Duration
	prolog  time.Duration
	patient time.Duration
}

// defaults suit Debian's package, RHEL's and SchedMD's own: all have the commands in /usr/bin and compile their path of slurm.conf in.
func defaults() settings {
	return settings{bin: "/usr/bin", every: 5 * time.Second, prolog: 8 * time.Second, patient: 10 * time.Second}
}

// Schema of a block `scheduler "slurm" "NAME"`.
func (p *Plugin) Schema() core.Schema {
	d := defaults()
	return core.Schema{Fields: []core.Field{
		{Name: fieldBin, Kind: core.KindString, Default: d.bin, Doc: "Folder of squeue, scontrol, scancel and sinfo."},
		{Name: fieldConf, Kind: core.KindString, Default: d.conf, Doc: "Path of slurm.conf; empty: the one that Slurm's commands have compiled in."},
		{Name: fieldEvery, Kind: core.KindDuration, Default: d.every, Doc: "How long after an answer squeue is asked again for all jobs, 1s to 5m."},
		{Name: fieldProlog, Kind: core.KindDuration, Default: d.prolog, Doc: "How long Prolog may wait for Weft, 1s to 2m. " +
			"Without PrologFlags=Alloc it must stay below twice MessageTimeout, where srun gives up; with it, 120s is good."},
		{Name: fieldPatient, Kind: core.KindDuration, Default: d.patient, Doc: "How long one of Slurm's commands about one job may take, 1s to 1m."},
	}}
}

// Configure puts a block in force. It is called before anything else is.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	s := defaults()
	if err := cmp.Or(
		scheduler.Path(values, fieldBin, &s.bin),
		scheduler.Duration(values, fieldEvery, &s.every, 5*time.Minute),
		scheduler.Duration(values, fieldProlog, &s.prolog, 2*time.Minute),
		scheduler.Duration(values, fieldPatient, &s.patient, time.Minute),
	); err != nil {
		return err
	}
	if values[fieldConf] != "" {
		if err := scheduler.Path(values, fieldConf, &s.conf); err != nil {
			return err
		}
	}
	p.settings, p.run = s, commands(s)
	return nil
}
