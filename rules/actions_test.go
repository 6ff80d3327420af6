package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// clock names what reads the clock or waits for it.
var clock = map[string][]string{
	"time":    {"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
}

// launch names what starts or becomes a process, beside package os/exec.
var launch = map[string][]string{
	"os":                    {"StartProcess"},
	"syscall":               {"Exec", "ForkExec", "StartProcess"},
	"golang.org/x/sys/unix": {"Exec"},
}

// launchers may start processes: host its plugins, command the programs of the host that schedulers and people ask, dev its simulated nodes' jobs, weft
// itself.
var launchers = []string{"host", "command", "dev", "cmd/weft"}

var actionRules = []rule{
	{
		name: "core/... starts no goroutine",
		why:  "its machines run one step at a time, so that any history of crashes can be replayed from a seed",
		check: func(t *tree) []string {
			var broken []string
			for _, f := range t.files {
				if f.test || !under(f.pkg, "core") {
					continue
				}
				ast.Inspect(f.ast, func(n ast.Node) bool {
					if g, ok := n.(*ast.GoStmt); ok {
						broken = append(broken, t.at(g.Pos())+": a go statement")
					}
					return true
				})
			}
			return broken
		},
	},
	{
		name: "core/... never reads a clock",
		why:  "time comes in with every input: quarantine and patience follow the server's running time, and no test has to sleep",
		check: func(t *tree) []string {
			return mentions(t, clock, func(f *source) bool { return !f.test && under(f.pkg, "core") })
		},
	},
	{
		name: "only host, command, dev and cmd/weft start processes",
		why:  "Weft runs as root: what it executes must be few lines in few places",
		check: func(t *tree) []string {
			bound := func(f *source) bool { return !f.test && !under(f.pkg, launchers...) }
			broken := mentions(t, launch, bound)
			for _, f := range t.files {
				if at, ok := t.imports(f)["os/exec"]; ok && bound(f) {
					broken = append(broken, fmt.Sprintf("%s: %s imports os/exec", t.at(at), f.pkg))
				}
			}
			return broken
		},
	},
	{
		name: "no test sleeps",
		why: "a sleep is too short on a loaded machine and too long on every other; use testing/synctest (a file that imports it may sleep, since a bubble's " +
			"time is not the world's), an injected clock or a channel",
		check: func(t *tree) []string {
			return mentions(t, map[string][]string{"time": {"Sleep"}}, func(f *source) bool {
				_, bubbles := t.imports(f)["testing/synctest"]
				return f.test && !bubbles
			})
		},
	},
}

// mentions lists where bound files name one of names, which are by import path.
func mentions(t *tree, names map[string][]string, bound func(*source) bool) []string {
	var broken []string
	for _, f := range t.files {
		if !bound(f) {
			continue
		}
		for pkg, list := range names {
			t.uses(f, pkg, func(name string, at token.Pos) {
				if slices.Contains(list, name) || name == "all of it by a dot import" {
					broken = append(broken, fmt.Sprintf("%s: %s.%s", t.at(at), pkg, name))
				}
			})
		}
	}
	slices.Sort(broken)
	return broken
}
