package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestClasses: what is no fault of a node's costs no node, whatever is submitted; no task runs without isolation; each user sees why.
func TestClasses(t *testing.T) {
	t.Parallel()
	none := func(t *testing.T, w *site) {
		t.Helper()
		if n := w.allServices(); n != 0 {
			t.Errorf("%d services", n)
		}
		w.nothingDrained()
	}
	// told waits until a job is over and returns what its user can see of why.
	told := func(w *site, job, out string) string {
		w.t.Helper()
		var text string
		until(w.t, "job "+job+" is over, and its user sees why", func() (bool, string) {
			shown, _ := w.root("scontrol", "show", "job", job)
			text = tail(out, 1<<14) + shown
			state := w.state(job)
			return state != "RUNNING" && state != "COMPLETING" && state != "CONFIGURING" && (state != "PENDING" || strings.Contains(text, "weft: ")), text
		})
		if strings.Contains(tail(out, 1<<14), "RAN") {
			w.t.Errorf("job %s ran without isolation: %s", job, text)
		}
		return text
	}
	t.Run("policy denies", func(t *testing.T) {
		t.Parallel()
		both(t, setup{policy: "deny \"not games\" {\n  when    = job.uid == 5\n  message = \"games are over\"\n}\n"}, func(t *testing.T, w *site) {
			first := w.batch(alice, "echo RAN", "-N1", "-n1", "--array=1-8", "-o", w.path("out", "deny-%a"))
			for i := 1; i <= 8; i++ {
				text := told(w, fmt.Sprintf("%s_%d", first, i), w.path("out", fmt.Sprint("deny-", i)))
				if !strings.Contains(text, "games are over") {
					t.Errorf("task %d: its user does not see why: %s", i, text)
				}
				if out := tail(w.path("out", fmt.Sprint("deny-", i)), 1<<14); !strings.Contains(out, "games are over") {
					t.Errorf("task %d: its output does not say why: %q", i, out)
				}
			}
			refused(w, "srun", "-N1", "echo", "RAN")
			none(t, w)
			// Others are served all the while.
			out, err := w.as(bob, "srun", "-N2", "sh", "-c", show)
			if err != nil || len(read(t, out)) != 2 {
				t.Errorf("another user: %v\n%s", err, out)
			}
			w.clean()
			none(t, w)
		})
	})
	t.Run("bad token", func(t *testing.T) {
		t.Parallel()
		const facts = `deny "seven minutes" {
  when = (job.time_limit == 420 && job.qos == "" && job.reservation == "" && job.constraints == ""
    && job.partition == "main" && now + job.time_limit > time("2026-01-01T00:00:00Z"))
  message = "nothing takes seven minutes"
}
`
		both(t, setup{policy: facts}, func(t *testing.T, w *site) {
			seven := w.batch(alice, "echo RAN", "-N1", "-t7", "-o", w.path("out", "seven"))
			if text := told(w, seven, w.path("out", "seven")); !strings.Contains(text, "seven minutes") {
				t.Errorf("a limit of seven minutes is not denied: %s", text)
			}
			job := w.batch(alice, "echo RAN", "-N1", "--network=job_vni,colour=blue", "-o", w.path("out", "token"))
			if text := told(w, job, w.path("out", "token")); !strings.Contains(text, "colour") {
				t.Errorf("its user does not see why: %s", text)
			}
			refused(w, "srun", "-N1", "--network=job_vni=none", "echo", "RAN")
			refused(w, "srun", "-N1", "--network=disable_rdzv_get", "echo", "RAN")
			refused(w, "srun", "-N1", "-w", "n1", "echo", "RAN", ":", "-N1", "-w", "n2", "--network=job_vni=none", "echo", "RAN")
			none(t, w)
			out, err := w.as(alice, "srun", "-N1", "-c4", "--network=job_vni,depth=4", "sh", "-c", show)
			tasks := read(t, out)
			if err != nil || len(tasks) != 1 || strings.Count(tasks[0].VNIs, ",") != 1 {
				t.Errorf("job_vni: %v\n%s", err, out)
			}
			w.clean()
			none(t, w)
		})
	})
	t.Run("pool empty", func(t *testing.T) {
		t.Parallel()
		both(t, setup{pool: "2000-2000"}, func(t *testing.T, w *site) {
			holder := w.batch(bob, "sleep 300", "-N1", "-n1")
			until(t, "the one VNI is taken", func() (bool, string) { n := w.allServices(); return n == nics, fmt.Sprint(n) })
			refused(w, "srun", "-N1", "-n1", "echo", "RAN")
			job := w.batch(alice, "echo RAN", "-N1", "-n1", "-o", w.path("out", "pool"))
			if text := told(w, job, w.path("out", "pool")); !strings.Contains(text, "pool") {
				t.Errorf("its user does not see why: %s", text)
			}
			w.nothingDrained()
			// A batch job is tried again once there is one.
			w.mustRoot("scancel", holder)
			w.clean()
			w.runsAfterAll(job, w.path("out", "pool"))
			w.clean()
			none(t, w)
		})
	})
	t.Run("quota full", func(t *testing.T) {
		t.Parallel()
		const quota = "quota \"few\" {\n  per  = \"user\"\n  vnis = 1\n}\n"
		both(t, setup{policy: quota}, func(t *testing.T, w *site) {
			holder := w.batch(alice, "sleep 300", "-N1", "-n1")
			until(t, "her one VNI is taken", func() (bool, string) { n := w.allServices(); return n == nics, fmt.Sprint(n) })
			const says = `quota "few": user games may hold 1 VNI`
			if text, _ := w.as(alice, "srun", "-N1", "-n1", "echo", "RAN"); !strings.Contains(text, says) {
				t.Errorf("srun does not say why: %s", text) // its exit code is 0 without PrologFlags=Alloc
			}
			job := w.batch(alice, "echo RAN", "-N1", "-n1", "-o", w.path("out", "quota"))
			if text := told(w, job, w.path("out", "quota")); !strings.Contains(text, says) {
				t.Errorf("its user does not see why: %s", text)
			}
			w.oneStep(bob, "n2", 1)
			w.nothingDrained()
			w.mustRoot("scancel", holder)
			w.runsAfterAll(job, w.path("out", "quota"))
			w.clean()
			none(t, w)
		})
	})
	t.Run("server dead", func(t *testing.T) {
		t.Parallel()
		both(t, setup{prolog: "10s"}, func(t *testing.T, w *site) {
			w.procs[theServer].kill()
			refused(w, "srun", "-N1", "-n1", "echo", "RAN")
			job := w.batch(alice, "srun echo RAN", "-N2", "-o", w.path("out", "dead"))
			if text := told(w, job, w.path("out", "dead")); !strings.Contains(text, "server") {
				t.Errorf("its user does not see why: %s", text)
			}
			until(t, "the job is back in the queue, with the reason", func() (bool, string) {
				shown, _ := w.root("scontrol", "show", "job", job)
				return w.state(job) == "PENDING" && strings.Contains(shown, "AdminComment=weft: ") && strings.Contains(shown, "Restarts=1"), shown
			})
			none(t, w)
			w.startServer()
			w.attached()
			w.runsAfterAll(job, w.path("out", "dead"))
			out, err := w.as(bob, "srun", "-N2", "sh", "-c", show)
			if err != nil || len(read(t, out)) != 2 {
				t.Errorf("when it is back: %v\n%s", err, out)
			}
			w.clean()
			none(t, w)
		})
	})
}

// runsAfterAll waits until a job that was requeued has run.
func (w *site) runsAfterAll(job, out string) {
	w.t.Helper()
	until(w.t, "job "+job+" runs after all", func() (bool, string) {
		state := w.state(job)
		if state == "PENDING" {
			w.hurry(job)
		}
		text := tail(out, 1<<14)
		ran := strings.Contains(text, "RAN")
		if !ran && (state == "CANCELLED" || state == "FAILED") {
			w.t.Fatalf("job %s is not back in the queue, it is over: %s: %s", job, state, text)
		}
		return ran, text + state
	})
}

// hurry lets a job that Slurm holds start again. One that was requeued starts by itself: Slurm lets it wait for
// cred_expire (slurm.conf), which is 30 s here. Before that slurmd may not run its Prolog, since it knows the job's last
// run still (slurm_cred_handle_reissue and _clear_expired_job_states in slurm_cred.c, 22.05.8).
func (w *site) hurry(job string) {
	if why, err := w.root("squeue", "-h", "-j", job, "-o", "%r"); err == nil && strings.Contains(why, "eld") {
		_, _ = w.root("scontrol", "release", job)
	}
}

// refused runs a command whose task must not run, and whose user must see why. srun's own exit code is 0 where the job was cancelled before its step began.
func refused(w *site, args ...string) {
	w.t.Helper()
	out, err := w.as(alice, args...)
	if strings.Contains(out, "RAN") || !strings.Contains(out, "weft: ") {
		w.t.Errorf("%v: %v\n%s", args, err, out)
	}
}
