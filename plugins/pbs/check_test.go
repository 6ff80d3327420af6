package pbs

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/pbs/install"
)

// TestFindings breaks one thing of a good site each, and wants the one finding of it.
func TestFindings(t *testing.T) {
	node := func(key, value string) func(*install.Site) {
		return func(s *install.Site) { s.Hooks[install.NodeHook][key] = value }
	}
	for name, c := range map[string]struct {
		spoil    func(*install.Site)
		severity core.Severity
		what     string
		evidence string
		mend     string
	}{
		"nothing":        {func(*install.Site) {}, core.Good, "its hooks are set", "list hook", ""},
		"no hook":        {func(s *install.Site) { delete(s.Hooks, install.NodeHook) }, core.Critical, "no job gets a VNI", "list hook", "`weft init pbs`"},
		"switched off":   {node("enabled", "false"), core.Critical, "is switched off", "enabled = false", "enabled = true"},
		"an event less":  {node("event", strings.Replace(install.NodeEvents, "execjob_end", "execjob_epilogue", 1)), core.Critical, "does not run Weft's hook in execjob_end", "event = ", "`weft init pbs`"},
		"no fail_action": {node("fail_action", "none"), core.Warning, "draws job after job", "fail_action = none", "fail_action = offline_vnodes"},
		"an alarm that is too short": {
			node("alarm", "10"), core.Warning, "PBS kills Weft's hook after 10 s, which may take 10 s to answer", "alarm = 10", "alarm = 30",
		},
		"an alarm that is long enough": {node("alarm", "11"), core.Good, "its hooks are set", "list hook", ""},
		"a script that is not Weft's": {
			func(s *install.Site) { s.Scripts[install.ServerHook] = "raise SystemError\n" }, core.Warning,
			"PBS's hook weft_server is of another release", "export hook weft_server", "`weft init pbs`",
		},
		"nobody is asked for room": {
			func(s *install.Site) { s.Hooks[install.ServerHook]["event"] = install.ObitEvent }, core.Warning, "does not ask Weft whether a VNI is free", install.ServerHook, "`weft init pbs`",
		},
		"arrays keep the scheduler": {
			func(s *install.Site) { s.Sched = map[string]string{"job_run_wait": "runjob_hook"} }, core.Warning,
			"starts no other job meanwhile", "job_run_wait = runjob_hook", "job_run_wait = none",
		},
		"the scheduler waits for no answer": {
			func(s *install.Site) { s.Sched = map[string]string{"job_run_wait": "none"} }, core.Good,
			"its hooks are set", "list hook", "",
		},
		"qsub takes anything": {
			func(s *install.Site) {
				s.Hooks[install.ServerHook]["event"] = install.ObitEvent + "," + install.RoomEvent
			},
			core.Notice, "qsub takes options of Weft's with bad values", "event = jobobit,runjob", "`weft init pbs`",
		},
	} {
		site := &install.Site{Hooks: map[string]map[string]string{
			install.NodeHook:   {"enabled": "true", "event": install.NodeEvents, "alarm": "30", "fail_action": "offline_vnodes"},
			install.ServerHook: {"enabled": "true", "event": install.ServerEvents, "alarm": "5"},
		}, Scripts: map[string]string{install.NodeHook: string(plan.Sealed("#", install.Script))}}
		c.spoil(site)
		got := findings(site)
		if len(got) != 1 || got[0].Severity != c.severity || !strings.Contains(got[0].What, c.what) || !strings.Contains(got[0].Evidence, c.evidence) || !strings.Contains(got[0].Remedy, c.mend) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
