package pbs

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

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
			backdate(asked)
		}
		return run(ctx, name, args...)
	}
}

// lastAsked is the file by which qstat knows that its user asked already in this second: it waits 200 ms then
// (delay_query of Libutil/misc_utils.c, OpenPBS 23.06.06). Weft gathers its questions by itself, and asks two at a time
// at most.
func lastAsked() string { return fmt.Sprintf("/var/tmp/.pbs_last_query_%d", os.Getuid()) }

// backdate makes the file of lastAsked an old one, after which qstat does not wait. It leaves the file there: where it
// is missing, any user can put a link to a file of root's there, and qstat empties that file when it ends
// (create_query_file). A folder that is not empty stays: it costs 200 ms, and nothing else.
func backdate(asked string) {
	for range 3 { // a user may be quicker once
		if there, err := os.Lstat(asked); err == nil {
			if own(there) {
				_ = os.Chtimes(asked, time.Time{}, time.Unix(0, 0))
				return
			}
			_ = os.Remove(asked)
		}
		if f, err := os.OpenFile(asked, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			_ = f.Close()
		}
	}
}

// own tells whether it is a plain file of this process's user, by one name alone.
func own(f fs.FileInfo) bool {
	sys, ok := f.Sys().(*syscall.Stat_t)
	return ok && f.Mode().IsRegular() && int(sys.Uid) == os.Getuid() && sys.Nlink == 1
}
