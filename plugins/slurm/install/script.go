package install

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// The three hooks, by the keys of slurm.conf; each file is named as the hook's phase is.
var hooks = []struct{ key, phase string }{{"Prolog", "prolog"}, {"TaskProlog", "taskprolog"}, {"Epilog", "epilog"}}

// script is one hook file.
type script struct {
	phase     string
	scheduler string
	hook      string // weft-hook
	dir       string // the agent's run directory; "" is the default
	site      string // the site's own program of this hook; "" where there is none
}

// seal begins the last line of a hook file, so that one that was edited by hand is known.
const seal = "# weft seal "

// single keeps Go's runtime from making ready for every processor of the node when weft-hook starts, which does one thing after another: for 256 of them
// that alone takes several times as long as the whole of weft-hook.
const single = "GOMAXPROCS=1"

// text is the file. The site's Prolog and TaskProlog run before Weft's call and its Epilog after it; the first code that is not zero is the hook's. A call
// of weft-hook that is the last thing to do replaces the shell, which saves a process.
//
// Where weft-hook is gone, Prolog and Epilog go by, since a failing one drains the node and the next job's node after it; TaskProlog fails, so that no task
// runs without isolation.
func (s script) text() []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/sh")
	line("# Slurm's %s%s%s: made by `weft init slurm`, removed by `weft init slurm --remove`.", key(s.phase), ofScheduler, s.scheduler)
	line("hook=%s", quote(s.hook))
	if s.site != "" {
		line("%s%s", siteBegin, quote(s.site))
	}
	call := `"$hook"`
	if s.dir != "" {
		call += " --dir " + quote(s.dir)
	}
	if s.phase == "taskprolog" { // of which a user sees nothing but what it prints so
		call += " --say 'print '"
	}
	call += " " + s.scheduler + " " + s.phase
	last := func() {
		line("export %s # weft-hook starts faster so on a node with many processors", single)
		line("exec %s", call)
	}
	gone := `$hook is not there: bring it back, or take Weft out of slurm.conf with "weft init slurm --remove" and "scontrol reconfigure"`
	switch s.phase {
	case "taskprolog":
		if s.site != "" {
			line(`"$site" "$@" || exit`)
			line("echo # what the site's printed may lack its last line's end")
		}
		line(`if [ ! -x "$hook" ]; then`)
		line("\techo %s", double("print weft: this task cannot have its network: "+gone))
		line("\texit 1")
		line("fi")
		last()
	case "prolog":
		if s.site != "" {
			line(`"$site" "$@" || exit`)
		}
		line(`if [ ! -x "$hook" ]; then`)
		line("\techo %s >&2", double("weft: job $SLURM_JOB_ID gets no network, and its tasks will fail: "+gone))
		line("\texit 0 # a failing Prolog would drain the node")
		line("fi")
		last()
	case "epilog":
		line("code=0")
		line(`if [ -x "$hook" ]; then`)
		line("\t%s %s || code=$?", single, call)
		line("else")
		line("\techo %s >&2", double("weft: what job $SLURM_JOB_ID held here is not removed: "+gone))
		line("fi")
		if s.site != "" {
			line(`"$site" "$@" || { last=$?; [ $code -ne 0 ] || code=$last; }`)
		}
		line("exit $code")
	}
	return sealed(b.String())
}

// What later runs read in a hook file.
const (
	siteBegin   = "site="
	ofScheduler = " on every node of scheduler "
)

func key(phase string) string {
	for _, h := range hooks {
		if h.phase == phase {
			return h.key
		}
	}
	return phase
}

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

// double quotes text in which variables count.
func double(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(s) + `"`
}

func sealed(text string) []byte {
	s := sha256.Sum256([]byte(text))
	return []byte(text + seal + hex.EncodeToString(s[:8]) + "\n")
}

// isSealed reports whether a file is as Weft wrote it; ours whether it is one of Weft's at all.
func isSealed(text []byte) (ours, intact bool) {
	s := string(text)
	i := strings.LastIndex(s, seal)
	if i < 0 {
		return false, false
	}
	return true, string(sealed(s[:i])) == s
}

// schedulerOf is the scheduler that a hook file of Weft's calls for.
func schedulerOf(text []byte) string {
	if _, intact := isSealed(text); !intact {
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
