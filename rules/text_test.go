package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// None of these patterns matches its own text.
var (
	machinePath = regexp.MustCompile(`(?:^|[^\w.~$}/-])/(?:root|work|Users|home/\w+|tmp/weft)(?:/|\b)|\.\./shared`)
	registry    = regexp.MustCompile(`proxy\.golang\.org|sum\.golang\.org|registry\.npmjs|pypi\.org`)
	unfinished  = regexp.MustCompile(`\b(?:TO[D]O|FIX[M]E)\b`)
)

const dependencies = "docs/dependencies.md"

var textRules = []rule{
	{
		name:  "no file names a developer's machine",
		why:   "the project speaks of itself alone: it must build, run and read the same for everybody",
		check: func(t *tree) []string { return matching(t, machinePath) },
	},
	{
		name:  "no file names a package registry",
		why:   "where modules come from is set on the machine that builds (GOPROXY)",
		check: func(t *tree) []string { return matching(t, registry) },
	},
	{
		name:  "nothing is left to do in the tree",
		why:   "what is unfinished is an issue with an owner, or it is never done",
		check: func(t *tree) []string { return matching(t, unfinished) },
	},
	{
		name:  "every direct dependency is in docs/dependencies.md",
		why:   "each is code that runs as root: somebody wrote down what it is for, why this one, its licence and whether it is alive",
		check: undocumented,
	},
	{
		name: "every folder has its line in CONTRIBUTING.md",
		why:  "the architecture is visible in the folders, and a newcomer reads there what each is",
		check: func(t *tree) []string {
			broken := map[string]bool{}
			for name := range t.texts {
				folder, _, below := strings.Cut(name, "/")
				if below && folder[0] != '.' && !strings.Contains(t.texts["CONTRIBUTING.md"], "`"+folder+"/") {
					broken["CONTRIBUTING.md: it does not say what "+folder+"/ is"] = true
				}
			}
			for _, f := range t.files {
				house := strings.HasPrefix(f.pkg, "rpc/proto/") || f.pkg == "."
				if !house && !strings.Contains(t.texts["CONTRIBUTING.md"], "`"+f.pkg+"/`") {
					broken["CONTRIBUTING.md: it does not say what "+f.pkg+"/ is"] = true
				}
			}
			for _, m := range folders.FindAllStringSubmatch(t.texts["CONTRIBUTING.md"], -1) {
				if !holds(t, m[1]) {
					broken["CONTRIBUTING.md: there is no "+m[1]] = true
				}
			}
			return slices.Sorted(maps.Keys(broken))
		},
	},
}

// folders are the paths that begin a row of CONTRIBUTING's table.
var folders = regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+/)`")

// holds reports whether the tree has a file in the folder.
func holds(t *tree, folder string) bool {
	for name := range t.texts {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

func matching(t *tree, pattern *regexp.Regexp) []string {
	var broken []string
	for _, name := range slices.Sorted(maps.Keys(t.texts)) {
		for i, line := range strings.Split(t.texts[name], "\n") {
			if found := pattern.FindString(line); found != "" {
				broken = append(broken, fmt.Sprintf("%s:%d: %q", name, i+1, strings.TrimSpace(found)))
			}
		}
	}
	return broken
}

var (
	requirement = regexp.MustCompile(`(?m)^(?:require)?\s+([\w.-]+\.[\w./~-]+) v\S+`)
	documented  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
)

// undocumented compares what the source imports with docs/dependencies.md, through go.mod; its "// indirect" marks are not trusted.
func undocumented(t *tree) []string {
	modules := map[string]bool{}
	for _, m := range requirement.FindAllStringSubmatch(t.texts["go.mod"], -1) {
		modules[m[1]] = true
	}
	told := map[string]bool{}
	for _, m := range documented.FindAllStringSubmatch(t.texts[dependencies], -1) {
		told[m[1]] = true
	}
	broken := map[string]bool{}
	for _, f := range t.files {
		for path, at := range t.imports(f) {
			if standard(path) || under(path, ".") || path == "C" {
				continue
			}
			module := path
			for !modules[module] && strings.Contains(module, "/") {
				module = module[:strings.LastIndex(module, "/")]
			}
			switch {
			case !modules[module]:
				broken[fmt.Sprintf("%s: no module of go.mod has %s", t.at(at), path)] = true
			case !told[module]:
				broken[fmt.Sprintf("go.mod: %s is used and not in %s", module, dependencies)] = true
			}
		}
	}
	for module := range told {
		if !modules[module] {
			broken[fmt.Sprintf("%s: %s is not in go.mod", dependencies, module)] = true
		}
	}
	return slices.Sorted(maps.Keys(broken))
}
