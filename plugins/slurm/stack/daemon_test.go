package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDaemons(t *testing.T) {
	proc := t.TempDir()
	for pid, p := range map[int]struct{ exe, args, env string }{
		1:  {"/sbin/init", "", ""},
		7:  {"/usr/sbin/slurmd-wlm", "slurmd\x00-N\x00n1\x00-f\x00/a.conf\x00", "SLURM_CONF=/b.conf\x00"},
		8:  {"/opt/slurm/sbin/slurmctld (deleted)", "slurmctld\x00-D\x00", "A=1\x00SLURM_CONF=/c.conf\x00"},
		9:  {"/usr/sbin/slurmdbd", "", ""},
		10: {"/usr/sbin/slurmd", "slurmd\x00-frel.conf\x00", ""},
		11: {"/usr/sbin/slurmstepd", "", ""},
		12: {"/usr/sbin/slurmd", "slurmd\x00-f\x00", ""},
		13: {"/usr/sbin/slurmd", "slurmd\x00-f\x00/a.conf\x00--conf-server\x00ctl:6817\x00", ""},
		14: {"/usr/sbin/slurmd", "slurmd\x00--conf-server=ctl\x00", "SLURM_CONF=/c.conf\x00"},
	} {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.Symlink(p.exe, filepath.Join(dir, "exe")))
		must(t, os.Symlink("/srv", filepath.Join(dir, "cwd")))
		must(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte(p.args), 0o644))
		must(t, os.WriteFile(filepath.Join(dir, "environ"), []byte(p.env), 0o644))
	}
	uid := uint32(os.Geteuid())
	want := []Daemon{
		{7, "slurmd", "/usr/sbin/slurmd-wlm", "/a.conf", uid},
		{8, "slurmctld", "/opt/slurm/sbin/slurmctld (deleted)", "/c.conf", uid},
		{10, "slurmd", "/usr/sbin/slurmd", "/srv/rel.conf", uid},
		{12, "slurmd", "/usr/sbin/slurmd", "", uid},
		{13, "slurmd", "/usr/sbin/slurmd", Configless, uid},
		{14, "slurmd", "/usr/sbin/slurmd", Configless, uid},
	}
	if diff := cmp.Diff(want, Daemons(proc)); diff != "" {
		t.Error(diff)
	}
	if got := Daemons(filepath.Join(proc, "none")); got != nil {
		t.Error(got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
