package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// Check looks for what in Slurm's own configuration stands in Weft's way.
func (p *Plugin) Check(ctx context.Context) ([]core.Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "scontrol", "show", "config")
	if err != nil {
		e := core.AsError(command.Away(err))
		return []core.Finding{{Severity: core.Critical, What: "Slurm's controller does not answer", Evidence: e.What, Remedy: e.Remedy}}, nil
	}
	config := readConfig(string(text))
	here := p.slurmds(config)
	spank, told := p.stacks(ctx, here)
	if len(here) > 0 {
		told = append(told, absent(config)...)
	}
	all := p.findings(config, spank)
	if slices.ContainsFunc(told, worse) {
		all = slices.DeleteFunc(all, func(f core.Finding) bool { return f.Severity == core.Good })
	}
	return slices.Concat(all, told), nil
}

func worse(f core.Finding) bool { return f.Severity != core.Good }

// readConfig reads the lines NAME = VALUE of `scontrol show config`, all of which are slurm.conf's. The first of a name counts.
func readConfig(text string) map[string]string {
	out := map[string]string{}
	for l := range strings.Lines(text) {
		name, value, ok := strings.Cut(l, " = ")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if _, have := out[name]; !ok || have {
			continue
		}
		if value == "(null)" {
			value = ""
		}
		out[name] = value
	}
	return out
}

// findings judges what the controller says. spank says that the SPANK plugin is there, which needs Epilog only.
func (p *Plugin) findings(c map[string]string, spank bool) []core.Finding {
	prolog := !spank || c["Prolog"] != "" || c["Prolog[0]"] != ""
	var all []core.Finding
	add := func(s core.Severity, name, what, remedy string) {
		all = append(all, core.Finding{Severity: s, What: what, Evidence: name + " = " + c[name], Remedy: remedy})
	}
	if strings.Contains(c["SwitchType"], "slingshot") {
		add(core.Critical, "SwitchType", "Slurm gives out VNIs by itself, beside Weft: two jobs can get one VNI", "take SwitchType and SwitchParameters out of slurm.conf, and restart slurmctld")
	}
	for _, hook := range []struct{ name, phase, miss string }{
		{"Prolog", PhaseProlog, "no job gets a VNI"}, {"TaskProlog", PhaseTaskProlog, "no task learns of its job's VNI, and none is refused"},
		{"Epilog", PhaseEpilog, "services stay until squeue no longer has the job"},
	} {
		if c[hook.name] == "" && c[hook.name+"[0]"] == "" && (hook.name == "Epilog" || !spank) {
			add(core.Critical, hook.name, "Slurm runs no "+hook.name+": "+hook.miss, fmt.Sprintf("set %s in slurm.conf to a script that calls weft-hook %s %s", hook.name, p.name, hook.phase))
		}
	}
	alloc := strings.Contains(strings.ToLower(c["PrologFlags"]), "alloc") || strings.Contains(strings.ToLower(c["PrologFlags"]), "contain")
	if !alloc && prolog {
		add(core.Notice, "PrologFlags", "Prolog runs on a node only when a step starts there: processes that ssh starts on the job's other nodes find no service", "set PrologFlags=Alloc in slurm.conf")
	}
	if limit, ok := seconds(c["MessageTimeout"]); ok && !alloc && prolog && p.settings.prolog >= 2*limit {
		add(core.Warning, "MessageTimeout", fmt.Sprintf("srun gives up after %s, before Prolog's limit of %s is over", 2*limit, p.settings.prolog), "lower "+fieldProlog+" in config.hcl, or set PrologFlags=Alloc in slurm.conf")
	}
	// A batch job whose launch slurmctld has not seen by then is lost to it (slurm.conf(5)).
	if limit, ok := seconds(c["BatchStartTimeout"]); ok && alloc && prolog && p.settings.prolog >= limit {
		add(core.Warning, "BatchStartTimeout", fmt.Sprintf("slurmctld takes a batch job for lost after %s, before Prolog's limit of %s is over", limit, p.settings.prolog),
			fmt.Sprintf("set BatchStartTimeout=%.0f in slurm.conf, or lower %s in config.hcl", (p.settings.prolog+10*time.Second).Seconds(), fieldProlog))
	}
	for _, end := range []struct {
		name, of string
		limit    time.Duration
	}{
		{"PrologEpilogTimeout", "Prolog and Epilog", max(p.settings.prolog, epilogLimit)}, // the newer releases have one for each beside it
		{"PrologTimeout", "Prolog", p.settings.prolog}, {"EpilogTimeout", "Epilog", epilogLimit},
	} {
		if limit, ok := seconds(c[end.name]); ok && end.limit >= limit && (prolog || end.name != "PrologTimeout") {
			add(core.Warning, end.name, fmt.Sprintf("slurmd ends %s after %s, before Weft's limit of %s is over, and drains the node", end.of, limit, end.limit),
				fmt.Sprintf("set %s=%.0f in slurm.conf, or take it out", end.name, (end.limit+10*time.Second).Seconds()))
		}
	}
	if !strings.Contains(c["AccountingStorageEnforce"], "associations") && c["AccountingStorageEnforce"] != "all" {
		add(core.Notice, "AccountingStorageEnforce", "a job's account is whatever its user says", "let no rule of policy rest on an account, or enforce associations in slurm.conf")
	}
	if len(all) == 0 {
		add(core.Good, "SLURM_VERSION", "Slurm's controller answers, and its hooks are set", "")
	}
	return all
}

// seconds is a time limit as `scontrol show config` has it: "10 sec" or "10". 65534 and 65535 are none.
func seconds(text string) (time.Duration, bool) {
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseUint(first, 10, 16)
	return time.Duration(n) * time.Second, err == nil && n > 0 && n < 65534
}
