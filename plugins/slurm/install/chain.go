package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plan"
)

// chain is how one hook of Weft's joins what the site has.
type chain struct {
	hook
	file    string    // the hook file
	site    string    // the program that the file runs too
	set     bool      // slurm.conf gets a line for it
	replace []setting // lines of slurm.conf that it replaces
	folder  string    // the site's, whose files Slurm runs all, where the file lies in one
}

// patterned are the characters that make glob(3) look for files.
const patterned = "*?["

// chains plans the hooks.
func (p *Plan) chains(o Options, c *conf, phases []hook) []chain {
	var out []chain
	for _, hook := range phases {
		ch := chain{hook: hook, file: filepath.Join(o.Hooks, hook.phase), set: true}
		lines := c.all(hook.key)
		for _, l := range lines {
			if l.More {
				p.add(plan.Refusal, l, hook.key, "write it alone in its line", "more than one setting stands in the line, which Slurm does not read")
			}
		}
		switch {
		case len(lines) > 1 && hook.key != "TaskProlog":
			p.add(plan.Refusal, lines[len(lines)-1], hook.key, "put the programs into one folder and name it by one line, such as "+hook.key+"=/etc/slurm/"+hook.phase+".d/*",
				"%d lines: Slurm before 24.05 runs the last one's program only, and 24.05 and newer run all", len(lines))
		case len(lines) == 0:
			p.add(plan.Fine, setting{}, hook.key, "", "the site has none")
		default:
			ch.join(c, p, lines)
		}
		out = append(out, ch)
	}
	return out
}

// join lets what the site has stay in force.
func (ch *chain) join(c *conf, p *Plan, lines []setting) {
	l := lines[len(lines)-1]
	path := l.Value
	if path == "" {
		p.add(plan.Fine, l, ch.key, "", "the site has none")
		ch.replace = lines
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(c.Files[0].Path), path) // as newer releases of Slurm do
	}
	switch {
	case filepath.Clean(path) == ch.file:
		// Somebody wrote our line by other means; the file may still run what the line named before.
		ch.set, ch.site = false, siteOf(textOf(ch.file))
		p.add(plan.Fine, l, ch.key, "", "it names Weft's hook already")
	case ch.key != "TaskProlog" && strings.ContainsAny(path, patterned):
		ch.intoFolder(p, l, path)
	default:
		ch.site, ch.replace = path, lines
		if len(lines) > 1 {
			p.add(plan.Warning, l, ch.key, "take the lines above it out", "%d lines: Slurm runs the last one's program only", len(lines))
		}
		order := "runs before Weft's, and Weft's does not run when it fails"
		switch ch.key {
		case "TaskProlog":
			order = "runs before Weft's; what both print is obeyed, and the first that fails ends the task"
		case "Epilog":
			order = "runs after Weft's, whether that fails or not; the first code that is not zero counts"
		}
		p.add(plan.Fine, l, ch.key, "", "the site's %s %s", path, order)
		if !file.Runs(path) {
			what := "Slurm drains a node on which it is missing"
			if ch.key == "TaskProlog" {
				what = "no task runs on a node on which it is missing"
			}
			p.add(plan.Warning, l, ch.key, "see that it is on every node, or take the line out", "%s: there is no such program on this host; %s", path, what)
		}
	}
}

// intoFolder puts the file of a hook among the site's. Slurm runs what glob(3) finds from the last to the first, by bytes since slurmd sets no locale, and
// stops at the first program that fails (22.05 to 26.11). So Prolog's, which comes last, has the lowest name and Epilog's the highest.
func (ch *chain) intoFolder(p *Plan, l setting, path string) {
	dir, pattern := filepath.Split(path)
	_, names, err := folder(dir)
	before, after, star := strings.Cut(pattern, "*")
	switch {
	case strings.ContainsAny(dir, patterned) || !star || strings.ContainsAny(before+after, patterned+`\`):
		p.add(plan.Refusal, l, ch.key, "name the folder by one pattern such as /etc/slurm/prolog.d/*", "%s: Weft cannot tell which file of its own this would run", path)
		return
	case err != nil:
		p.add(plan.Refusal, l, ch.key, "run this on a node that has the folder, or make it", "%s: there is no such folder on this host", strings.TrimSuffix(dir, "/"))
		return
	}
	names = matching(names, pattern)
	low := ch.key == "Prolog"
	for _, name := range []string{"00-weft", "0-weft", "0--weft", "zz-weft", "zzz-weft", "zzzz-weft"} {
		name = before + name + after
		if (name[len(before)] == '0') != low || !outermost(names, name, low) {
			continue
		}
		ch.file, ch.set, ch.folder = dir+name, false, dir
		order := "it runs after the site's " + programs(len(names)) + ", and not when one of them fails"
		if !low {
			order = "it runs before the site's " + programs(len(names)) + ", and none of them runs when it fails"
		}
		p.add(plan.Fine, l, ch.key, "", "%s is added: %s", ch.file, order)
		return
	}
	p.add(plan.Refusal, l, ch.key, "rename the site's first and last one", "%s: no name for Weft's file sorts beyond those of the site's", path)
}

// matching are the names that a pattern matches, but for Weft's own.
func matching(names []string, pattern string) []string {
	var out []string
	for _, n := range names {
		if ok, err := filepath.Match(pattern, n); err == nil && ok && !strings.HasPrefix(n, ".") {
			out = append(out, n)
		}
	}
	return out
}

func programs(n int) string {
	if n == 1 {
		return "1 program"
	}
	return fmt.Sprint(n, " programs")
}

func outermost(names []string, name string, low bool) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return n != name && (n < name) == low })
}
