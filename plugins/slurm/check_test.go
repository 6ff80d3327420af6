package slurm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/command"
)

const goodConfig = `Configuration data as of 2026-11-28T03:24:44
AccountingStorageEnforce = associations
BatchStartTimeout       = 10 sec
Epilog                  = /etc/slurm/epilog
MessageTimeout          = 10 sec
Prolog                  = /etc/slurm/prolog
PrologEpilogTimeout     = 65534
PrologFlags             = Alloc
SLURM_VERSION           = 22.05.8
SwitchType              = switch/none
TaskProlog              = /etc/slurm/taskprolog

Slurmctld(primary) at host is UP
`

func TestCheck(t *testing.T) {
	var all strings.Builder
	for _, c := range []struct {
		what     string
		from, to string
		limit    time.Duration
	}{
		{"all is well", "", "", 8 * time.Second},
		{"Slurm's own plugin", "switch/none", "switch/hpe_slingshot", 8 * time.Second},
		{"no Prolog", "Prolog                  = /etc/slurm/prolog", "Prolog                  = (null)", 8 * time.Second},
		{"no TaskProlog", "TaskProlog              = /etc/slurm/taskprolog", "", 8 * time.Second},
		{"several Epilogs", "Epilog                  = /", "Epilog[0]               = /", 8 * time.Second},
		{"without Alloc", "= Alloc", "= (null)", 8 * time.Second},
		{"without Alloc, patient", "= Alloc", "= (null)", 20 * time.Second},
		{"Contain implies Alloc", "= Alloc", "= Contain", 120 * time.Second},
		{"a batch job is lost first", "", "", 10 * time.Second},
		{"a batch job is not lost first", "BatchStartTimeout       = 10", "BatchStartTimeout       = 130", 120 * time.Second},
		{"slurmd ends Prolog and Epilog first", "Timeout     = 65534", "Timeout     = 10", 8 * time.Second},
		{"slurmd ends Prolog first", "PrologEpilogTimeout     = 65534", "PrologTimeout           = 8", 8 * time.Second},
		{"slurmd ends Epilog first", "PrologEpilogTimeout     = 65534", "EpilogTimeout           = 9 sec", 8 * time.Second},
		{"slurmd ends neither first", "Timeout     = 65534", "Timeout     = 11", 8 * time.Second},
		{"accounts are claims", "= associations", "= none", 8 * time.Second},
	} {
		p := New("tioga")
		p.settings.prolog = c.limit
		fmt.Fprintf(&all, "== %s\n", c.what)
		for _, f := range p.findings(readConfig(strings.Replace(goodConfig, c.from, c.to, 1)), false) {
			fmt.Fprintf(&all, "%d %s\n  %s\n  %s\n", f.Severity, f.What, f.Evidence, f.Remedy)
		}
	}
	golden(t, "check", all.String())
	f := &fake{err: &command.Failure{Command: "scontrol", Says: "Unable to contact slurm controller", Code: 1}}
	got, err := f.adapter(t).Check(t.Context())
	if err != nil || len(got) != 1 || !strings.Contains(got[0].Evidence, "Unable to contact") {
		t.Errorf("%+v, %v", got, err)
	}
}
