package slurm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

// TestDoctorOfSpank: each fault of the plugin has its finding.
func TestDoctorOfSpank(t *testing.T) {
	dir := t.TempDir()
	for at := dir; at != os.TempDir(); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	so := filepath.Join(dir, "weft.so")
	compile(t, "spank/weft.c", so, "-shared", "-fPIC")
	sbatch, err := exec.LookPath("sbatch")
	if err != nil {
		t.Skip("no sbatch here; `make test-deps` brings it")
	}
	put := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("run/root.sock", "", 0o644)
	put("weft-hook", "", 0o755)
	junk := put("junk/weft.so", "junk", 0o755)
	open := put("open/weft.so", "junk", 0o666)
	args := fmt.Sprintf(" scheduler=tioga run=%s/run hook=%s/weft-hook\n", dir, dir)
	conf := put("slurm.conf", "ClusterName=a\nPlugStackConfig="+filepath.Join(dir, "stack")+"\n", 0o644)
	p := New("tioga")
	p.settings.bin = filepath.Dir(sbatch)
	p.daemons = func() []stack.Daemon {
		return []stack.Daemon{{PID: -1, Name: "slurmctld", Conf: "/none"}, {PID: -1, Name: "slurmd", Conf: conf}}
	}
	for name, tt := range map[string]struct {
		stack string
		spank bool
		worst core.Severity
		want  string
	}{
		"none":           {"required /x.so\n", false, core.Good, ""},
		"well":           {"required " + so + args, true, core.Good, "has loaded it"},
		"of another":     {"required " + so + " scheduler=other\n", false, core.Good, ""},
		"optional":       {"optional " + so + args, true, core.Critical, "without their network"},
		"not a plugin":   {"required " + junk + args, true, core.Critical, "cannot be used"},
		"not there":      {"required " + dir + "/none/weft.so" + args, true, core.Critical, "no such file"},
		"open to others": {"required " + open + args, true, core.Critical, "slurmstepd loads it as root"},
		"no agent":       {"required " + so + " run=" + dir + "/x\n", true, core.Critical, "no agent answers"},
		"no weft-hook":   {"required " + so + args[:len(args)-1] + "x\n", true, core.Critical, "does not find weft-hook"},
		"an argument":    {"required " + so + args[:len(args)-1] + " nonsense=1\n", true, core.Critical, "nonsense=1: "},
		"out of range":   {"required " + so + args[:len(args)-1] + " timeout=0\n", true, core.Critical, "timeout=0: "},
		"seconds":        {"required " + so + args[:len(args)-1] + " timeout=60s\n", true, core.Good, "has loaded it"},
		"passed over":    {"Required " + so + args, false, core.Critical, "passes over"},
		"another's line": {"what\nrequired " + so + args, true, core.Warning, "passes over"},
	} {
		t.Run(name, func(t *testing.T) {
			put("stack", tt.stack, 0o644)
			spank, all := p.stacks(t.Context(), p.slurmds(map[string]string{"ClusterName": "A"}))
			worst, text := core.Good, ""
			for _, f := range all {
				worst, text = max(worst, f.Severity), text+fmt.Sprintln(f)
			}
			if spank != tt.spank || worst != tt.worst || !strings.Contains(text, tt.want) {
				t.Errorf("spank %v, %v:\n%s", spank, worst, text)
			}
		})
	}
	// With the plugin neither Prolog nor TaskProlog is missed; Epilog is.
	bare := "SLURM_VERSION = 22.05.8\nAccountingStorageEnforce = associations\nEpilog = /e\n"
	if all := p.findings(readConfig(bare), true); len(all) != 1 || all[0].Severity != core.Good {
		t.Errorf("%+v", all)
	}
	all := p.findings(readConfig(strings.ReplaceAll(bare, "Epilog", "x")), true)
	if len(all) != 1 || all[0].Severity != core.Critical {
		t.Errorf("%+v", all)
	}
}

// TestSlurmdElsewhere: the slurmd of another cluster on this host, such as one for trials, is not judged.
func TestSlurmdElsewhere(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "slurm.conf")
	if err := os.WriteFile(conf, []byte("ClusterName=tioga\nSlurmctldPort=6820\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := New("tioga")
	p.daemons = func() []stack.Daemon {
		return []stack.Daemon{{PID: 7, Name: "slurmd", Conf: conf}, {PID: 8, Name: "slurmd", Conf: conf}}
	}
	for text, want := range map[string]int{
		"ClusterName = tioga\nSlurmctldPort = 6820\n": 1,
		"ClusterName = tioga\n":                       1,
		"ClusterName = trial\nSlurmctldPort = 6820\n": 0,
		"ClusterName = tioga\nSlurmctldPort = 6817\n": 0,
	} {
		if got := p.slurmds(readConfig(text)); len(got) != want {
			t.Errorf("%q: %+v, want %d", text, got, want)
		}
	}
}

// TestAbsent: a hook that slurm.conf names and this node lacks.
func TestAbsent(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"is": 0o755, "plain": 0o644, "d/10": 0o755} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"Epilog = DIR/is": "", "Epilog[0] = DIR/d/*": "", "Prolog = (null)": "", "Prolog = sent.sh": "",
		"PrologSlurmctld = DIR/none": "", "Epilog = DIR/plain": "drains", "Epilog = DIR": "drains",
		"Prolog[1] = DIR/none/*": "drains", "Epilog = DIR/none": "drains", "TaskProlog = DIR/none": "no task starts",
	} {
		all := absent(readConfig(strings.ReplaceAll(line, "DIR", dir) + "\n"))
		if text := fmt.Sprint(all); len(all) > 0 != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q", line, text, want)
		}
	}
}
