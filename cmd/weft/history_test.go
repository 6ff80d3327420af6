package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/history"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.edit(theServer, "server {\n", "server {\n  history = \"jobs.jsonl\"\n")
	d.up()
	say := func(args ...string) string {
		t.Helper()
		d.must(os.RemoveAll(d.path("history.log")))
		_ = d.weft("history.log", append([]string{"jobs"}, args...)...).Wait()
		return d.log("history")
	}
	rows := func() []history.Row {
		t.Helper()
		rows, err := history.Parse(strings.NewReader(say("--history", "--config", d.path("server.hcl"), "-o", "json")))
		d.must(err)
		return rows
	}
	a, b := d.mustBegin("n1"), d.mustBegin("n1")
	a.finish()
	d.until("the history has one job that runs and one that ended", func() (bool, string) {
		got := rows()
		return len(got) == 2 && !got[0].Ended.IsZero() && got[1].Ended.IsZero() && got[0].Ended.After(got[0].Made), fmt.Sprintf("%+v", got)
	})
	if r := rows()[0]; r.Job.ID != a.job || r.Job.Scheduler != "local" || fmt.Sprint(r.VNIs[0]) != a.vnis || r.Job.Nodes != "n1" || r.Policy != d.status().Policy {
		t.Errorf("%+v", r)
	}
	d.kill(theServer) // it goes on after a restart
	d.start(theServer)
	d.attached()
	b.finish()
	d.until("the other has ended too", func() (bool, string) {
		got := rows()
		return len(got) == 2 && !got[1].Ended.IsZero(), fmt.Sprintf("%+v", got)
	})
	if said := say("--history", "--config", d.path("server.hcl"), "--since", "1h"); !strings.Contains(said, a.job) {
		t.Error(said)
	}
	if said := say("--history", "--config", d.path("server.hcl"), "--since", "soon"); !strings.Contains(said, "how long ago") {
		t.Error(said)
	}
	if said := say("--history", "--config", d.path("n1.hcl")); !strings.Contains(said, "keeps no history") {
		t.Error(said)
	}
	d.clean()
}
