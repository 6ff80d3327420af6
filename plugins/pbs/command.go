package pbs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/command"
)

// commands run PBS's commands, for what a block says. asked is the file of lastAsked.
func commands(s settings, asked string) command.Runner {
	c := command.Programs{
		Whose: "PBS's", Folder: filepath.Join(s.exec, "bin"),
		Remedy: "set `" + fieldExec + "` in the scheduler's block of config.hcl to PBS_EXEC",
	}
	if s.server != "" {
		c.Env = []string{"PBS_SERVER=" + s.server}
	}
	run := c.Runner()
	return func(ctx context.Context, name string, args ...string) ([]byte, error) {
		if name == "qstat" {
			_ = os.Remove(asked) // one that is there costs 200 ms, and nothing else
		}
		return run(ctx, name, args...)
	}
}

// lastAsked is the file by which qstat knows that its user asked already in this second: it waits 200 ms then
// (delay_query of Libutil/misc_utils.c, OpenPBS 23.06.06). Weft gathers its questions by itself, and asks two at a time
// at most. Every user can make the file for another.
func lastAsked() string { return fmt.Sprintf("/var/tmp/.pbs_last_query_%d", os.Getuid()) }
