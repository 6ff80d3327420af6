package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// asksFor holds the path of slurm.conf where this test binary runs as the adapter of an ordinary user.
const asksFor = "WEFT_E2E_ASKS"

// TestPrivateData: an ordinary user's squeue exits 0 without the jobs of others. The adapter then calls itself blind.
func TestPrivateData(t *testing.T) {
	if conf := os.Getenv(asksFor); conf != "" {
		ask(t, conf)
		return
	}
	t.Parallel()
	needSlurm(t)
	c := newCluster(t, folder(t), nil, "n1")
	c.up()
	job := c.batch(alice, "sleep 300", "-w", "n1")
	c.awaitState(job, "RUNNING")
	text, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(c.path("out", "adapter"), text, 0o755))
	says := func(u user) string {
		t.Helper()
		return c.mustAs(u, "env", asksFor+"="+c.conf(), "TMPDIR="+c.path("out"),
			c.path("out", "adapter"), "-test.v", "-test.run=^TestPrivateData$")
	}
	want := func(u user, word string) {
		t.Helper()
		if got := says(u); !strings.Contains(got, "told "+word) {
			t.Errorf("%s is told %s, want %s", u.name, got, word)
		}
	}
	want(bob, "complete "+job)
	c.change("PrivateData=jobs,usage")
	c.mustRoot("scontrol", "reconfigure")
	if out := c.mustAs(bob, "squeue", "-h"); out != "" {
		t.Fatalf("squeue shows bob the jobs of alice: %s", out)
	}
	want(bob, "blind")
	want(user{name: "root"}, "complete "+job)
	c.change()
	c.mustRoot("scontrol", "reconfigure")
	want(bob, "complete "+job)
}

// ask prints the first answer of the adapter.
func ask(t *testing.T, conf string) {
	p := slurm.New("tioga")
	must(t, p.Configure(t.Context(), core.Values{"bin": commandsFolder(), "conf": conf}))
	enough := errors.New("enough")
	err := p.Watch(context.Background(), func(j core.Jobs) error {
		switch {
		case j.Asking:
			return nil
		case j.Blind != "":
			fmt.Println("told blind:", j.Blind)
		case j.Complete:
			fmt.Print("told complete")
			for _, s := range j.Jobs {
				fmt.Print(" ", s.Job)
			}
			fmt.Println()
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}
