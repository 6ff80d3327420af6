package policy_test

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// A rule that needs an unknown fact refuses the job, and names the fact and the scheduler. A condition that has a value
// without the fact keeps that value.
func TestUnknownFacts(t *testing.T) {
	known := core.Told{
		QOS: new("debug"), Reservation: new(""), TimeLimit: new(core.Unlimited), Constraints: new("gpu&nvme"),
	}
	const lacks = `unknown: scheduler "tioga" did not tell it`
	for when, c := range map[string]struct {
		known bool   // of a job of which all is known
		lacks string // of a job of which nothing is; "": its answer is the same
	}{
		`job.qos == "debug"`:                                          {true, "job.qos is " + lacks},
		`job["qos"] == "debug"`:                                       {true, "job.qos is " + lacks},
		`contains(["debug"], job.qos)`:                                {true, "job.qos is " + lacks},
		`upper(job.qos) == "DEBUG"`:                                   {true, "job.qos is " + lacks},
		`coalesce(job.qos, "none") == "none"`:                         {false, "job.qos is " + lacks},
		`job.qos == job.qos`:                                          {true, "job.qos is " + lacks},
		`job.reservation == ""`:                                       {true, "job.reservation is " + lacks},
		`job.time_limit > 100000`:                                     {true, "job.time_limit is " + lacks},
		`job.time_limit == unlimited`:                                 {true, "job.time_limit is " + lacks},
		`job.time_limit != unlimited && job.time_limit / 60 > 1`:      {false, "job.time_limit is " + lacks},
		`contains(split("&", job.constraints), "gpu")`:                {true, "job.constraints is " + lacks},
		`now > time("2026-11-29T20:00:00+01:00")`:                     {true, "now is unknown: the job has no time"},
		`now + job.time_limit > time("2099-12-01T06:00:00Z")`:         {true, "now is unknown: the job has no time"},
		`job.scheduler == "slurm" && job.qos == "debug"`:              {false, ""},
		`job.qos == "debug" && job.scheduler == "slurm"`:              {false, ""},
		`job.scheduler == "tioga" || job.time_limit > 60`:             {true, ""},
		`job.scheduler == "tioga" && job.qos == "debug"`:              {true, "job.qos is " + lacks},
		`!(job.nodes > 1) && job.qos == "debug"`:                      {false, ""},
		`job.scheduler == "slurm" ? job.qos == "x" : job.nodes == 2`:  {true, ""},
		`job.partition == "batch" && job.queue == job.partition`:      {true, ""},
		`contains(["batch"], job.partition) || job.reservation == ""`: {true, ""},
	} {
		p := load(t, base, rule(when))
		f := facts(func(j *core.Job) { j.Told = known })
		f.Now = 1796000000
		d := p.Decide(f)
		if d.Deny != nil || (len(d.Rules) == 1) != c.known || d.Now != f.Now {
			t.Errorf("%s: where all is known: %v, rules %v, decided at %d", when, d.Deny, d.Rules, d.Now)
		}
		for _, d := range []engine.Decision{p.Decide(facts(nil)), p.Explain(facts(nil)).Decision} {
			switch {
			case c.lacks == "" && (d.Deny != nil || (len(d.Rules) == 1) != c.known):
				t.Errorf("%s: where nothing is known: %v, rules %v", when, d.Deny, d.Rules)
			case c.lacks == "":
			case d.Deny == nil, d.Deny.Reason != core.PolicyFault, !strings.Contains(d.Deny.What, c.lacks):
				t.Errorf("%s: where nothing is known: %v, without %q", when, d.Deny, c.lacks)
			}
		}
	}
}

// A deny, a quota, limits and a message need what they name, too. A deny that only warns refuses no job.
func TestUnknownFactsBeyondRules(t *testing.T) {
	for text, refuses := range map[string]bool{
		`deny "d" {
  match { schedulers = ["slurm"] }
  when    = job.qos == "x"
  message = "no"
}`: false,
		`deny "d" {
  when    = job.qos == "x"
  message = "no"
}`: true,
		`deny "d" {
  when    = job.qos == "x"
  message = "no"
  enforce = "warn"
}`: false,
		`deny "d" {
  when    = job.nodes > 1
  message = "no ${job.qos}"
}`: true,
		`quota "q" {
  per  = "user"
  vnis = job.qos == "x" ? 1 : 2
}`: true,
		`limits "l" { txqs = { reserved = 1, max = job.time_limit } }
rule "r" { limits = "l" }`: true,
	} {
		d := load(t, base, text).Decide(facts(nil))
		if refuses != (d.Deny != nil) {
			t.Errorf("%s\n%v", text, d.Deny)
		}
		if refuses && !strings.Contains(d.Deny.What, `scheduler "tioga" did not tell it`) {
			t.Errorf("%s\n%v", text, d.Deny)
		}
	}
}

// A trace shows an unlimited time as a policy writes it, and what is unknown as such.
func TestTraceOfToldFacts(t *testing.T) {
	p := load(t, base, rule("job.time_limit > 60"))
	f := facts(func(j *core.Job) { j.TimeLimit = new(core.Unlimited) })
	for want, f := range map[string]engine.Facts{
		"job.time_limit is unlimited": f, "job.time_limit is unknown": facts(nil),
	} {
		if why := p.Explain(f).Blocks[0].Why; !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
}
