package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// TestAnExemptionEndsWithoutAHook: the job ended before slurm.conf named Weft's hooks, so no clean-up was ever asked for. The server is asked, in the same
// session and at the begin of each, and its answer ends the exemption where it is whole and lacks that very run.
func TestAnExemptionEndsWithoutAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := rundir.Dir(t.TempDir())
		n := begins(t, d, "s", "other")
		defer n.stop()
		job := ran(2 * time.Minute)
		n.tell("s", job)
		n.tell("other")
		bypassed := core.JobID{Scheduler: "s", Job: "2"}
		if err := d.Exempt(bypassed); err != nil {
			t.Fatal(err)
		}
		again := func() (times int) {
			for _, r := range n.server.said() {
				if r.First && !r.Full {
					times++
				}
			}
			return times
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := again(); got != 1 {
			t.Errorf("after 11 minutes the server was asked again %d times", got)
		}
		n.server.cut <- nil
		time.Sleep(time.Minute)
		synctest.Wait()
		if !n.asks() {
			t.Error("the next session does not ask")
		}
		whole := func(scheduler string, jobs ...core.JobStatus) {
			n.server.orders <- core.Orders{Ran: []core.Ran{{Scheduler: scheduler, Jobs: jobs, Whole: true}}}
			synctest.Wait()
		}
		whole("s", job)
		whole("other")
		n.tell("s") // not whole
		if !d.Exempted(one) {
			t.Fatal("a job that runs, or may, is not exempt any more")
		}
		later := job
		later.Generation++
		whole("s", later)
		if d.Exempted(one) || !d.Exempted(bypassed) {
			t.Errorf("its run is over, and it is exempt: %v; one that went by is: %v", d.Exempted(one), d.Exempted(bypassed))
		}
		before := again()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := again(); got != before {
			t.Errorf("nothing is left to be asked, and the server was asked %d times", got-before)
		}
	})
}
