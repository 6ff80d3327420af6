package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
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
	if len(tasks) != 6 || len(steps) != 3 || strings.Contains(out, "shares") {
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
	if len(tasks) != 40 || strings.Contains(out, "shares") {
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

	w.stepsThatAsk(job, own)
	w.undrawn(job)

	// A slurmstepd that is killed says nothing.
	w.killedStep(job)
	w.stepsThroughCrashes(job, own)

	w.mustRoot("scancel", job)
	w.clean()
	w.stepsRefused()
	w.nothingDrained()
}

// stepsThatAsk: a step has less than its job where its user asks for that, and fails alone where he asks for more. In
// every release srun takes SLURM_NETWORK for --network. Before 24.05 no node learns the text of --network by itself.
func (w *site) stepsThatAsk(job, own string) {
	w.t.Helper()
	for _, c := range []struct{ network, vnis, classes, says string }{
		{"tcs=LOW_LATENCY", ".*," + own, "0x2", ""},
		{"job_vni,single_node_vni", ".*," + own, "0xa", ""},
		{"no_vni", "", "", ""},
		{"tcs=BULK_DATA", "", "", " asks for traffic class BULK_DATA: the job has LOW_LATENCY,BEST_EFFORT"},
		{"res_ptes=6", "", "", " asks for a limit of ptes: the job's steps share its one service on each NIC"},
		{"nonsense", "", "", `option "--network=nonsense": there is no such option`},
		{"job vni", "", "", "--network: it has characters that no option has"},
	} {
		run := []string{"srun", "--jobid=" + job, "-N2", "-n2", "--overlap", "sh", "-c", show}
		ways := [][]string{append([]string{"env", "SLURM_NETWORK=" + c.network}, run...)}
		if w.release() >= "24.05" { // srun tells its nodes what --network says
			ways = append(ways, append([]string{"srun", "--network=" + c.network}, run[1:]...))
		}
		for _, way := range ways {
			out, err := w.as(alice, way...)
			tasks := read(w.t, out)
			switch {
			case c.says != "" && (err == nil || len(tasks) > 0 || !strings.Contains(out, c.says)):
				w.t.Errorf("%v: %v\n%s", way, err, out)
			case c.says != "":
			case err != nil || len(tasks) != 2:
				w.t.Errorf("%v: %v\n%s", way, err, out)
			default:
				for _, s := range tasks {
					if ok, _ := regexp.MatchString("^"+c.vnis+"$", s.VNIs); !ok || s.TCs != c.classes {
						w.t.Errorf("%v: %+v", way, s)
					}
				}
			}
		}
	}
	if s := w.state(job); s != "RUNNING" {
		w.t.Errorf("the job of steps that asked for more is %s", s)
	}
}

// stepsThroughCrashes: the server and the agents know their steps again after they were killed. No VNI is on two live
// steps, and all come back.
func (w *site) stepsThroughCrashes(job, own string) {
	w.t.Helper()
	ends := w.path("out", "ends")
	task := w.path("out", "crashes")
	text := fmt.Sprintf("%s\nuntil [ -e %[2]s-$SLURM_STEP_ID ] || [ -e %[2]s ]; do sleep 0.05; done\n", show, ends)
	must(w.t, os.WriteFile(task, []byte(text), 0o644))
	loop := fmt.Sprintf("for i in 1 2 3; do srun --jobid=%s -N2 -n2 --overlap sh %s & done; wait", job, task)
	c := w.command(w.t.Context(), alice, "sh", "-c", loop)
	must(w.t, c.Start())
	drawn := func(n int) (rows []server.StepRow) {
		until(w.t, fmt.Sprintf("%d steps have a VNI", n), func() (bool, string) {
			rows = w.draws(job)
			bare := slices.ContainsFunc(rows, func(r server.StepRow) bool { return r.VNI == 0 })
			return len(rows) == n && !bare, fmt.Sprint(rows)
		})
		return rows
	}
	before := drawn(3)
	for _, name := range []string{theServer, agentOf("n1"), agentOf("n2")} {
		w.procs[name].kill()
	}
	must(w.t, os.WriteFile(ends+"-"+before[0].Step, nil, 0o644))
	w.startServer()
	w.startAgent("n1")
	w.startAgent("n2")
	w.attached()
	if after := drawn(2); !slices.Equal(after, before[1:]) {
		w.t.Errorf("the steps have %v, and before the crashes %v", after, before[1:])
	}
	out := w.mustAs(alice, "srun", "--jobid="+job, "-N2", "-n2", "--overlap", "sh", "-c", show)
	for _, s := range read(w.t, out) {
		if want := fmt.Sprintf("%d,%s", before[0].VNI, own); s.VNIs != want {
			w.t.Errorf("a step after the crashes has VNIs %s, and %s is free: %v", s.VNIs, want, before)
		}
	}
	must(w.t, os.WriteFile(ends, nil, 0o644))
	must(w.t, c.Wait())
	w.undrawn(job)
	for _, event := range []string{"draw", "return"} {
		line := regexp.MustCompile(event + ` .*step=` + before[0].Step + fmt.Sprintf(` vni=%d\b`, before[0].VNI))
		if log := tail(w.path("server.log"), 1<<20); !line.MatchString(log) {
			w.t.Errorf("the audit has no %q of step %s:\n%s", event, before[0].Step, log)
		}
	}
}

// stepsRefused: where policy lets no step share, its user reads why it does not start, and the job goes on.
func (w *site) stepsRefused() {
	w.t.Helper()
	strict := strings.Replace(stepPolicy, "count = 3", "count = 1\n  beyond = \"refuse\"", 1)
	must(w.t, os.WriteFile(w.path("policy", "zz-site.policy.hcl"), []byte(strict), 0o644))
	if out, err := w.weft("reload"); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	job, _ := w.allocation("strict")
	live, ends := w.path("out", "live"), w.path("out", "over")
	task := fmt.Sprintf("touch %s; until [ -e %s ]; do sleep 0.05; done", live, ends)
	c := w.command(w.t.Context(), alice, "srun", "--jobid="+job, "-N1", "-n1", "--overlap", "sh", "-c", task)
	must(w.t, c.Start())
	until(w.t, "a step has the VNI", func() (bool, string) { return exists(live), "" })
	out, err := w.as(alice, "srun", "--jobid="+job, "-N2", "-n2", "--overlap", "sh", "-c", show)
	w.t.Logf("the user of a step that is refused reads\n%s", out)
	const why = "other steps use all VNIs that steps of the job have, and the site's policy lets none share the job's; " +
		"wait for another step of the job to end"
	if err == nil || len(read(w.t, out)) > 0 || !strings.Contains(out, why) {
		w.t.Errorf("a step beyond the VNIs: %v\n%s", err, out)
	}
	must(w.t, os.WriteFile(ends, nil, 0o644))
	must(w.t, c.Wait())
	w.undrawn(job)
	if n := len(read(w.t, w.mustAs(alice, "srun", "--jobid="+job, "-N2", "-n2", "--overlap", "sh", "-c", show))); n != 2 {
		w.t.Errorf("once the VNI is back, %d tasks start", n)
	}
	w.mustRoot("scancel", job)
	w.clean()
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
