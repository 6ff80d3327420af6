package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Configless is the slurm.conf of a slurmd that has its configuration from slurmctld (slurm.conf(5),
// enable_configless).
const Configless = "/run/slurm/conf/slurm.conf"

// Daemon is a daemon of Slurm that runs on this host.
type Daemon struct {
	PID  int
	Name string // slurmd or slurmctld
	Exe  string // its program; it ends in " (deleted)" if it was replaced since it started
	Conf string // the slurm.conf that it was given; "": the one that it has compiled in
	UID  uint32
}

// Daemons lists the daemons of Slurm that run on this host, by process id. proc is /proc.
func Daemons(proc string) []Daemon {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	var out []Daemon
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if d, ok := daemon(filepath.Join(proc, e.Name())); ok {
			d.PID = pid
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Daemon) int { return a.PID - b.PID })
	return out
}

// maxProc bounds a file of /proc, in bytes.
const maxProc = 256 << 10

func daemon(dir string) (Daemon, bool) {
	d := Daemon{}
	exe, err := os.Readlink(filepath.Join(dir, "exe")) // of root's process only root may
	base := filepath.Base(exe)
	for _, name := range []string{"slurmctld", "slurmd"} {
		if rest, ok := strings.CutPrefix(strings.TrimSuffix(base, deleted), name); ok && (rest == "" || rest[0] == '-') {
			d.Name = name // Debian's program is slurmd-wlm
			break
		}
	}
	info, err2 := os.Stat(dir)
	if err != nil || err2 != nil || d.Name == "" {
		return d, false
	}
	d.Exe = exe
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		d.UID = st.Uid
	}
	text, _ := file.Read(filepath.Join(dir, "cmdline"), maxProc)
	d.Conf = given(strings.Split(string(text), "\x00"))
	if d.Conf == "" {
		text, _ := file.Read(filepath.Join(dir, "environ"), maxProc)
		for v := range strings.SplitSeq(string(text), "\x00") {
			if conf, ok := strings.CutPrefix(v, "SLURM_CONF="); ok {
				d.Conf = conf
			}
		}
	}
	if d.Conf != "" && !filepath.IsAbs(d.Conf) {
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		d.Conf = filepath.Join(cwd, d.Conf)
	}
	return d, true
}

const deleted = " (deleted)"

// given finds -f FILE among the arguments of a daemon. For a slurmd --conf-server counts more
// (_establish_configuration, slurmd.c, 22.05 to 26.05).
func given(args []string) string {
	for _, a := range args {
		if name, _, _ := strings.Cut(a, "="); name == "--conf-server" {
			return Configless
		}
	}
	for i, a := range args {
		switch {
		case a == "-f" && i+1 < len(args):
			return args[i+1]
		case strings.HasPrefix(a, "-f") && len(a) > 2:
			return strings.TrimPrefix(a[2:], "=")
		}
	}
	return ""
}

// Alike sees that every slurmd of this host that has that slurm.conf, or tells none, is of the major release r.
func Alike(ctx context.Context, r Release, conf string) error {
	for _, d := range Daemons("/proc") {
		if d.Name != "slurmd" || d.Conf != "" && d.Conf != conf {
			continue
		}
		if runs := d.Release(ctx); runs != 0 && runs.Major() != r.Major() {
			return core.Errorf(core.BadConfig, "slurmd (process %d, %s) is Slurm %s, and the commands are %s",
				d.PID, d.Exe, runs, r)
		}
	}
	return nil
}

// Release asks the daemon's own program, even where another has taken its place meanwhile. It runs only what root runs
// already, and gives 0 otherwise.
func (d Daemon) Release(ctx context.Context) Release {
	if d.UID != 0 {
		return 0
	}
	run := command.Programs{Whose: "Slurm's", Folder: fmt.Sprintf("/proc/%d", d.PID)}.Runner()
	out, err := run(ctx, "exe", "-V")
	if err != nil {
		return 0
	}
	return ParseRelease(string(out))
}
