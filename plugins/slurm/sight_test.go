package slurm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// TestSeesAll: squeue's answer is not complete when slurmctld may hide jobs from its user, though squeue exits 0.
func TestSeesAll(t *testing.T) {
	for name, c := range map[string]struct {
		uid            uint32
		private, level string
		want           core.Reason
	}{
		"root":                       {0, "jobs", "", ""},
		"nothing is private":         {1001, "none", "None", ""},
		"other things are private":   {1001, "accounts,events,usage", "None", ""},
		"jobs are private":           {1001, "accounts,jobs,usage", "None", core.Blind},
		"all is private":             {1001, "all", "None", core.Blind},
		"SlurmUser":                  {64030, "jobs", "", ""},
		"operator":                   {1001, "jobs", "Operator", ""},
		"administrator":              {1001, "jobs", "Administrator", ""},
		"another's level":            {1001, "jobs", "None\nUserName=root(0) AdminLevel=Administrator", core.Blind},
		"no such account":            {1001, "jobs", "", core.Blind},
		"a configuration without it": {1001, "", "Operator", core.SchedulerAway},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{}
			f.job("7")
			f.config = "SlurmUser               = slurm(64030)\n"
			if c.private != "" {
				f.config += "PrivateData             = " + c.private + "\n"
			}
			f.level = "Current Association Manager state\nNo users currently cached in Slurm.\n"
			if c.level != "" { // as scontrol of 22.05.8 prints it
				f.level = "User Records\nUserName=opper(1001) DefAccount=a DefWckey= AdminLevel=" + c.level + "\n"
			}
			p := NewWith("tioga", f.run)
			p.uid = c.uid
			_, err := p.list(t.Context())
			got := core.Reason("")
			if err != nil {
				got = core.AsError(err).Reason
			}
			if got != c.want {
				t.Errorf("%q: %v", got, err)
			}
			if got == core.Blind {
				remedy := core.AsError(err).Remedy
				if !strings.Contains(remedy, "adminlevel=Operator") || strings.Contains(remedy, "SlurmUser") {
					t.Errorf("its remedy, with a server that other users' weft trusts: %q", remedy)
				}
			}
			if c.uid == 0 && len(f.calls) != 1 {
				t.Errorf("root's right needs no question: %q", f.calls)
			}
		})
	}
}

// TestSeesAllOfAControllerThatEnds: without a proof there is no answer.
func TestSeesAllOfAControllerThatEnds(t *testing.T) {
	f := &fake{}
	f.job("7")
	p := NewWith("tioga", f.run)
	p.uid = 1001
	f.config = ""
	for _, away := range []error{nil, &command.Failure{Command: "scontrol", Says: "connection refused", Code: 1}} {
		f.away = away
		if _, err := p.list(t.Context()); err == nil || core.AsError(err).Reason != core.SchedulerAway {
			t.Errorf("%v: %v", fmt.Sprint(away), err)
		}
	}
}
