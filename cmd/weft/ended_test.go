package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// TestAJobEndsWhileTheServerIsAway: it is active no longer than 2 s after the server is back.
func TestAJobEndsWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	k := d.mustBegin("n1")
	d.kill(theServer)
	k.finish()
	d.until("the node is clean", func() (bool, string) {
		left := d.services("n1")
		return len(left) == 0, fmt.Sprint(left)
	})
	d.start(theServer)
	if !d.serves() {
		t.Fatal("the server does not start")
	}
	began := time.Now()
	d.until("the job is not active", func() (bool, string) {
		rows, err := hook.List[server.JobRow](t.Context(), d.socket(), "jobs", nil)
		for _, r := range rows {
			if r.State == "active" {
				return false, fmt.Sprintf("%+v", r)
			}
		}
		return err == nil, fmt.Sprint(err)
	})
	if took := time.Since(began); took > 5*time.Second { // 2 s, and what a busy machine takes
		t.Errorf("the job was active for %v after the server's return", took)
	}
	d.clean()
}
