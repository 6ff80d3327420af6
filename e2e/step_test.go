package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/server"
)

// stepPolicy gives the steps of each job three VNIs to draw from.
const stepPolicy = `vni "step" {
  pool  = "jobs"
  count = 3
}

rule "a VNI for each step" {
  vnis = ["app", "step"]
}
`

// draws are the steps of a job that have drawn a VNI now.
func (w *site) draws(job string) []server.StepRow {
	w.t.Helper()
	out, err := w.weft("job", job, "-o", "json")
	must(w.t, err)
	var all []server.JobDetail
	must(w.t, json.Unmarshal([]byte(out), &all))
	if len(all) != 1 {
		w.t.Fatalf("job %s: %s", job, out)
	}
	return all[0].Steps
}

// undrawn waits until all VNIs of a job's steps are the job's again.
func (w *site) undrawn(job string) {
	w.t.Helper()
	until(w.t, "no step of job "+job+" has a VNI", func() (bool, string) {
		rows := w.draws(job)
		return len(rows) == 0, fmt.Sprint(rows)
	})
}

// allocation starts a job on both nodes that waits for its end, and returns what its script sees.
func (w *site) allocation(name string) (string, seen) {
	w.t.Helper()
	out := w.path("out", name)
	job := w.batch(alice, show+"\nsleep 600\n", "-N2", "-n8", "--overcommit", "-o", out)
	var all []seen
	until(w.t, "job "+job+" says what it sees", func() (bool, string) {
		all = read(w.t, tail(out, 1<<14))
		return len(all) == 1, tail(out, 1<<12) + w.state(job)
	})
	return job, all[0]
}

// steps runs n steps of a job on both nodes by one shell, at once or one after another. Those at once live until all
// have begun. It returns what they say.
func (w *site) steps(job string, n int, between string) string {
	w.t.Helper()
	task := w.path("out", fmt.Sprint("task-", n))
	text := show + "\n"
	if between == "&" {
		text += fmt.Sprintf("touch %[1]s-$SLURM_STEP_ID\n"+
			"until [ $(ls %[1]s-* | wc -l) -ge %[2]d ]; do sleep 0.05; done\n", task, n)
	}
	must(w.t, os.WriteFile(task, []byte(text), 0o644))
	loop := "for i in $(seq %d); do srun --jobid=%s -N2 -n2 --overlap sh %s %s done; wait"
	return w.mustAs(alice, "sh", "-c", fmt.Sprintf(loop, n, job, task, between))
}

// byStep are the VNIs that tasks of each step see, which must be the same in all of them.
func byStep(t testing.TB, tasks []seen) map[string]string {
	t.Helper()
	vnis := map[string]string{}
	for _, s := range tasks {
		if had, ok := vnis[s.Step]; ok && had != s.VNIs {
			t.Errorf("step %s has VNIs %s and %s", s.Step, had, s.VNIs)
		}
		vnis[s.Step] = s.VNIs
	}
	return vnis
}

// TestSteps: each of a job's concurrent steps has its own VNI, which is the job's again when it ends.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newSite(t, setup{spank: true, policy: stepPolicy})
	job, script := w.allocation("steps")
	own := script.VNIs // the job's
	if strings.Contains(own, ",") {
		t.Fatalf("the script sees VNIs %s", own)
	}

	// Three at once.
	out := w.steps(job, 3, "&")
	tasks := read(t, out)
	steps, first := byStep(t, tasks), map[string]bool{}
	for step, vnis := range steps {
		v, second, _ := strings.Cut(vnis, ",")
		if second != own || v == own || first[v] {
			t.Errorf("step %s has VNIs %s; the job's is %s: %v", step, vnis, own, steps)
		}
		first[v] = true
	}
	if len(tasks) != 6 || len(steps) != 3 || strings.Contains(out, "warning") {
		t.Errorf("three steps on two nodes say\n%s", out)
	}
	w.undrawn(job)

	// One after another never finds all taken.
	out = w.steps(job, 20, ";")
	tasks = read(t, out)
	for step, vnis := range byStep(t, tasks) {
		if !strings.HasSuffix(vnis, ","+own) {
			t.Errorf("step %s has VNIs %s", step, vnis)
		}
	}
	if len(tasks) != 40 || strings.Contains(out, "warning") {
		t.Errorf("20 steps one after another say\n%s", out)
	}

	// More than there are VNIs: some share the job's, on all their nodes, with one warning.
	w.undrawn(job)
	out = w.steps(job, 5, "&")
	shared := 0
	steps = byStep(t, read(t, out))
	for _, vnis := range steps {
		if vnis == own {
			shared++
		}
	}
	if len(steps) != 5 || shared != 2 || strings.Count(out, "shares the job's VNI") != 1 {
		t.Errorf("5 steps, of which %d share\n%s", shared, out)
	}
	w.undrawn(job)

	// A slurmstepd that is killed says nothing.
	w.killedStep(job)

	w.mustRoot("scancel", job)
	w.clean()
	w.nothingDrained()
}

// killedStep kills a step's slurmstepd.
func (w *site) killedStep(job string) {
	w.t.Helper()
	started := w.path("out", "killed")
	task := fmt.Sprintf("echo $PPID > %[1]s.new; mv %[1]s.new %[1]s; sleep 600", started)
	c := w.command(w.t.Context(), alice, "srun", "--jobid="+job, "-N1", "-n1", "--overlap", "-w", "n1", "sh", "-c", task)
	must(w.t, c.Start())
	until(w.t, "the step runs", func() (bool, string) { return exists(started), "" })
	if rows := w.draws(job); len(rows) != 1 || rows[0].VNI == 0 {
		w.t.Errorf("a step lives: %+v", rows)
	}
	stepd, err := strconv.Atoi(strings.TrimSpace(tail(started, 64)))
	must(w.t, err)
	must(w.t, syscall.Kill(stepd, syscall.SIGKILL))
	w.undrawn(job)
	_ = c.Process.Kill()
	_ = c.Wait()
}
