package slurm

import "github.com/weft-hpc/weft/command"

// commands run Slurm's commands, for what a block says.
func commands(s settings) command.Runner {
	c := command.Programs{
		Whose: "Slurm's", Folder: s.bin,
		Env:    []string{"SLURM_TIME_FORMAT=%s"}, // strftime's: seconds since 1970 know no time zone and no hour that comes twice
		Remedy: "set `" + fieldBin + "` in the scheduler's block of config.hcl to the folder of Slurm's commands",
	}
	if s.conf != "" {
		c.Env = append(c.Env, "SLURM_CONF="+s.conf)
	}
	return c.Runner()
}
