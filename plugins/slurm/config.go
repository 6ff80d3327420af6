package slurm

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/block"
)

// The fields of a block `scheduler "slurm" "NAME"` that a remedy names.
const (
	fieldBin    = "bin"
	fieldProlog = "prolog_timeout"
)

// settings are a block's values.
type settings struct {
	bin     string
	conf    string
	every   time.Duration
	prolog  time.Duration
	tasks   string
	patient time.Duration
}

// defaults suit Debian's package, RHEL's and SchedMD's own: all have the commands in /usr/bin and compile their path of slurm.conf in.
func defaults() settings {
	return settings{bin: "/usr/bin", every: 5 * time.Second, prolog: 8 * time.Second, tasks: "/etc/weft/slurm/taskprolog", patient: 10 * time.Second}
}

func (s *settings) fields() block.Fields {
	return block.Fields{
		block.Path(fieldBin, &s.bin, "Folder of squeue, scontrol, scancel and sinfo."),
		block.Path("conf", &s.conf, "Path of slurm.conf; empty: the one that Slurm's commands have compiled in."),
		block.Duration("every", &s.every, 5*time.Minute,
			"How long after an answer squeue is asked again for all jobs, 1s to 5m."),
		block.Duration(fieldProlog, &s.prolog, 2*time.Minute, "How long Prolog may wait for Weft, 1s to 2m. "+
			"Without PrologFlags=Alloc it must stay below twice MessageTimeout, where srun gives up; with it, 120s is good."),
		block.Path("task_prolog", &s.tasks, "Path of Weft's TaskProlog. Where slurm.conf names it, a refused batch job ends "+
			"in it, with the reason in its output; else Weft cancels the job before it starts."),
		block.Duration("command_timeout", &s.patient, time.Minute,
			"How long one of Slurm's commands about one job may take, 1s to 1m."),
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
	p.settings, p.run = s, commands(s)
	return nil
}
