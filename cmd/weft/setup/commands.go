package setup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm/install"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

// answerLimit bounds the questions to Slurm's commands.
const answerLimit = 3 * time.Second

// served refuses a run directory without an agent: every hook would fail there. "" is the default, which needs no flag.
func served(p *plan.Plan, dir string) {
	if dir == "" {
		return
	}
	c, err := net.Dial("unix", filepath.Join(dir, "root.sock"))
	if err != nil {
		p.Add(plan.Refusal, "--dir",
			"run this on a node while its agent runs, with `dir` of its agent block; or leave --dir out",
			"no agent answers in %s, and every hook would fail", dir)
		return
	}
	_ = c.Close()
}

// commands runs the commands in bin that the server will run, and looks for another Slurm on this host. A job that they
// do not show is over to the server. So they must be of the Slurm that has this slurm.conf.
func commands(ctx context.Context, p *plan.Plan, bin, conf string) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	const another = "name the folder of this Slurm's commands with --bin here, and as `bin` in the scheduler's block of " +
		"config.hcl"
	run := command.Programs{Whose: "Slurm's", Folder: bin, Env: []string{"SLURM_CONF=" + conf}, Remedy: another}.Runner()
	var r stack.Release
	for _, name := range []string{"squeue", "scontrol", "scancel", "sinfo"} {
		out, err := run(ctx, name, "--version")
		of := stack.ParseRelease(string(out))
		switch {
		case err != nil:
			p.Add(plan.Warning, "bin", another, "%s does not run: %v", filepath.Join(bin, name), err)
			return
		case r != 0 && of != r:
			p.Add(plan.Refusal, "bin", another, "%s is Slurm %s, and squeue there is %s", filepath.Join(bin, name), of, r)
			return
		}
		r = of
	}
	others(p, bin, conf)
	out, err := run(ctx, "scontrol", "show", "config")
	if err != nil {
		p.Add(plan.Warning, "bin", "run this while slurmctld answers, to prove that these commands ask the right one",
			"%s/scontrol has no answer from slurmctld: %v", bin, says(err))
		return
	}
	told, want := shownValue(out, "ClusterName"), install.Value(conf, "ClusterName")
	if !strings.EqualFold(told, want) {
		p.Add(plan.Refusal, "bin", another, "%s/scontrol asks cluster %q, and %s is of cluster %q", bin, told, conf, want)
		return
	}
	p.Add(plan.Fine, "bin", "", "the commands in %s are Slurm %s, and cluster %s answers them", bin, r, told)
}

func says(err error) string {
	var no *command.Failure
	if errors.As(err, &no) {
		return no.Says
	}
	return err.Error()
}

// shownValue is a value of `scontrol show config`.
func shownValue(text []byte, name string) string {
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), "="); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// others warns of another Slurm on this host: its commands, and its daemons.
func others(p *plan.Plan, bin, conf string) {
	folders := filepath.SplitList(os.Getenv("PATH"))
	usual := []string{"/usr/bin", "/usr/local/bin", "/opt/slurm*/bin", "/opt/slurm/*/bin", "/usr/local/slurm*/bin"}
	for _, pattern := range usual {
		found, _ := filepath.Glob(pattern)
		folders = append(folders, found...)
	}
	own, _ := filepath.EvalSymlinks(filepath.Join(bin, "squeue"))
	more := map[string]bool{}
	for _, dir := range folders {
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "squeue")); err == nil && real != own {
			more[real] = true
		}
	}
	if len(more) > 0 {
		p.Add(plan.Warning, "bin", "give --bin, and `bin` in config.hcl, the folder of the Slurm that Weft is for",
			"this host has the commands of another Slurm too: %s", strings.Join(slices.Sorted(maps.Keys(more)), ", "))
	}
	var daemons []string
	for _, d := range stack.Daemons("/proc") {
		if d.Conf != "" && d.Conf != conf {
			daemons = append(daemons, fmt.Sprintf("%s (process %d) with %s", d.Name, d.PID, d.Conf))
		}
	}
	if len(daemons) > 0 {
		p.Add(plan.Warning, "slurm.conf", "see that --conf, and `conf` in config.hcl, name the Slurm that Weft is for",
			"daemons of another Slurm run here: %s", strings.Join(daemons[:min(len(daemons), 4)], "; "))
	}
}
