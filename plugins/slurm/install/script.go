package install

import (
	_ "embed"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
)

// The texts of the hook files. The site's Prolog and TaskProlog run before Weft's call and its Epilog runs after it; the
// first code that is not zero is the hook's. A call of weft-hook that comes last replaces the shell, which saves a
// process.
//
// Where weft-hook is gone, Prolog and Epilog go by: a failing one drains the node, and the next job's node after it.
// TaskProlog fails, so that no task runs without isolation.
//
// GOMAXPROCS=1 keeps Go's runtime from getting ready for every processor of the node: for 256 processors that alone
// takes several times as long as all that weft-hook does.
var (
	//go:embed prolog.sh
	prologText string
	//go:embed taskprolog.sh
	taskPrologText string
	//go:embed epilog.sh
	epilogText string
)

// ifSite begins a line of a text that only a hook with a site's program has.
const ifSite = "@SITE "

// hook is one of Slurm's hooks, by its key in slurm.conf. Its file has the name of its phase.
type hook struct{ key, phase, text string }

var hooks = []hook{
	{"Prolog", "prolog", prologText}, {"TaskProlog", "taskprolog", taskPrologText}, {"Epilog", "epilog", epilogText},
}

// script is one hook file.
type script struct {
	hook
	scheduler string
	program   string // weft-hook
	dir       string // the agent's run directory; "" is the default
	site      string // the site's own program of this hook; "" where there is none
	lenient   bool   // Epilog succeeds whatever Weft's call does: a failing one drains the node
}

// file is the text of the hook file.
func (s script) file() []byte {
	var lines strings.Builder
	for line := range strings.Lines(s.text) {
		rest, conditional := strings.CutPrefix(line, ifSite)
		if s.lenient { // the server learns from squeue that the job is over
			rest = strings.Replace(rest, "@CALL@ epilog || code=$?", "@CALL@ epilog || :", 1)
		}
		if !conditional || s.site != "" {
			lines.WriteString(rest)
		}
	}
	call := `"$hook"`
	if s.dir != "" {
		call += " --dir " + quote(s.dir)
	}
	if s.phase == "taskprolog" { // a user sees nothing of it but what it prints so
		call += " --say 'print '"
	}
	return plan.Sealed("#", strings.NewReplacer(
		"@KEY@", s.key, "@SCHEDULER@", s.scheduler, "@HOOK@", quote(s.program), "@PROGRAM@", quote(s.site),
		"@CALL@", call+" "+s.scheduler,
	).Replace(lines.String()))
}

// What later runs read in a hook file.
const (
	siteBegin   = "site="
	ofScheduler = " on every node of scheduler "
)

// quote makes one word of a shell.
func quote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !word(r) && r != '/' && r != '-' }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func unquote(s string) string {
	if body, ok := strings.CutPrefix(s, "'"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(body, "'"), `'\''`, "'")
	}
	return s
}

// schedulerOf is the scheduler that a hook file of Weft's calls for.
func schedulerOf(text []byte) string {
	if _, intact := plan.IsSealed(text); !intact {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ofScheduler)
	name, _, _ := strings.Cut(rest, ":")
	if core.CheckName("scheduler", name, core.MaxScheduler) != nil {
		return ""
	}
	return name
}

// siteOf is the site's program that a hook file runs.
func siteOf(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, siteBegin); ok {
			return unquote(ended(rest))
		}
	}
	return ""
}
