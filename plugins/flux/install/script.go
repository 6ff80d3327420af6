package install

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/weft-hpc/weft/plan"
)

// The scriptlets, by the folders that flux-run-system-scripts looks into; each calls the phase of that name.
var scriptlets = []string{"prolog", "epilog"}

// outdated is where older releases had one more.
const outdated = "housekeeping.d"

//go:embed prolog.sh
var prologText string

//go:embed epilog.sh
var epilogText string

//go:embed weft.lua
var luaText string

// template of a scriptlet.
func template(phase string) string {
	if phase == "prolog" {
		return prologText
	}
	return epilogText
}

// scriptlet is the text of one.
func (o Options) scriptlet(phase string) []byte {
	call := `"$hook"`
	if o.Dir != "" {
		call += " --dir " + quote(o.Dir)
	}
	return plan.Sealed("#", o.fill(template(phase), map[string]string{
		"PHASE": phase, "HOOK": quote(o.Hook), "CALL": call + " " + o.Scheduler + " " + phase, "WAIT": fmt.Sprint(int(o.Wait / time.Second)),
	}))
}

// plugin is the text of the shell plugin.
func (o Options) plugin() []byte {
	dir := "nil"
	if o.Dir != "" {
		dir = luaQuote(o.Dir)
	}
	return plan.Sealed("--", o.fill(luaText, map[string]string{"HOOK": luaQuote(o.Hook), "DIR": dir, "URI": luaQuote(o.URI), "LABEL": luaQuote(o.Scheduler)}))
}

func (o Options) fill(text string, with map[string]string) string {
	with["SCHEDULER"] = o.Scheduler
	pairs := make([]string, 0, 2*len(with))
	for k, v := range with {
		pairs = append(pairs, "@"+k+"@", v)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// quote makes one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// luaQuote makes a string of Lua. What stands in it is checked to have no control characters.
func luaQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// lines are what Flux's configuration must have (flux-config-job-manager(5)). Without commands of their own, both run what flux-imp(8) is set up to run.
func (o Options) lines() string {
	return fmt.Sprintf(`# For Weft, scheduler %s: prolog and epilog on each node.
[job-manager]
plugins = [ { load = "perilog.so" } ]

[job-manager.prolog]
per-rank = true
timeout = "%dm" # Weft's own waits %s at most, and one try more

[job-manager.epilog]
per-rank = true
`, o.Scheduler, int((o.Wait+o.Try+margin+time.Minute-1)/time.Minute), o.Wait)
}

// margin is for the site's own scriptlets.
const margin = 15 * time.Minute
