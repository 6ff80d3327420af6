package pbs

import (
	"path/filepath"

	"github.com/weft-hpc/weft/command"
)

// commands run PBS's commands, for what a block says.
func commands(s settings) command.Runner {
	c := command.Programs{
		Whose: "PBS's", Folder: filepath.Join(s.exec, "bin"),
		Remedy: "set `" + fieldExec + "` in the scheduler's block of config.hcl to PBS_EXEC",
	}
	if s.server != "" {
		c.Env = []string{"PBS_SERVER=" + s.server}
	}
	return c.Runner()
}
