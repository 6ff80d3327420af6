package rules

import (
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path"
	"slices"
	"strings"
)

// maxLines of a file that is not a test and not generated. Most stay under half of it.
const maxLines = 400

// vague names say nothing of what a package is for, and so attract everything.
var vague = []string{"util", "utils", "common", "helper", "helpers", "type", "types", "misc"}

var shapeRules = []rule{
	{
		name:  "every package has exactly one package comment",
		why:   "the first thing a reader sees of a package is what it is for; two comments contradict each other sooner or later",
		check: packageComments,
	},
	{
		name: "every file is as gofmt writes it",
		why:  "a diff shows what changed and nothing else",
		check: func(t *tree) []string {
			var broken []string
			for _, f := range t.files {
				if text, err := format.Source([]byte(t.texts[f.path])); err != nil || string(text) != t.texts[f.path] {
					broken = append(broken, f.path+": run gofmt -w on it")
				}
			}
			return broken
		},
	},
	{
		name: "no file is longer than 400 lines",
		why:  "a file holds one idea, usually under 200 lines",
		check: func(t *tree) []string {
			var broken []string
			for _, f := range t.files {
				if !f.test && !ast.IsGenerated(f.ast) && f.lines > maxLines {
					broken = append(broken, fmt.Sprintf("%s:%d: it has %d lines", f.path, maxLines+1, f.lines))
				}
			}
			return broken
		},
	},
	{
		name: "no package is named util, common, helpers, types, misc",
		why:  "a package is named with the noun that it holds",
		check: func(t *tree) []string {
			broken := map[string]bool{}
			for _, f := range t.files {
				name := f.ast.Name.Name
				if i := slices.IndexFunc(strings.Split(f.pkg, "/"), func(s string) bool { return slices.Contains(vague, s) }); i >= 0 || slices.Contains(vague, name) {
					broken[fmt.Sprintf("%s:1: package %s", f.path, name)] = true
				}
			}
			return slices.Sorted(maps.Keys(broken))
		},
	},
	{
		name:  "an interface of core has one to four methods",
		why:   "a plugin's author implements it and a test fakes it; what is optional is an interface of its own, and none ever grows",
		check: interfaces,
	},
}

func packageComments(t *tree) []string {
	type pkg struct {
		name     string
		comments []string // the files that have one
	}
	found := map[string]*pkg{}
	var broken []string
	for _, f := range t.files {
		name := f.ast.Name.Name
		if f.test && (hasProduct(t, f.pkg) || strings.HasSuffix(name, "_test")) {
			continue
		}
		p := found[f.pkg]
		if p == nil {
			p = &pkg{name: name}
			found[f.pkg] = p
		}
		text := f.ast.Doc.Text()
		if text == "" {
			continue
		}
		p.comments = append(p.comments, f.path)
		if want := "Package " + name + " "; name != "main" && !strings.HasPrefix(text, want) {
			broken = append(broken, fmt.Sprintf("%s: the package comment does not begin with %q", t.at(f.ast.Package), want))
		}
	}
	for dir, p := range found {
		if len(p.comments) == 0 {
			broken = append(broken, fmt.Sprintf("%s: package %s has no package comment", dir, p.name))
		}
		if len(p.comments) > 1 {
			broken = append(broken, fmt.Sprintf("%s: package %s is commented in %s", dir, p.name, strings.Join(p.comments, ", ")))
		}
	}
	slices.Sort(broken)
	return broken
}

// hasProduct reports whether a folder holds more than tests.
func hasProduct(t *tree, dir string) bool {
	return slices.ContainsFunc(t.files, func(f *source) bool { return f.pkg == dir && !f.test })
}

func interfaces(t *tree) []string {
	var broken []string
	for _, f := range t.files {
		if f.test || !under(f.pkg, "core") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			it, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				return true
			}
			count, constraint := 0, false
			for _, m := range it.Methods.List {
				switch m.Type.(type) {
				case *ast.FuncType:
					count += len(m.Names)
				case *ast.BinaryExpr, *ast.UnaryExpr: // a union: a constraint of a type parameter
					constraint = true
				default: // embedded: at least one
					count++
				}
			}
			if !constraint && (count < 1 || count > 4) {
				broken = append(broken, fmt.Sprintf("%s: interface %s.%s has %d methods", t.at(spec.Pos()), path.Base(f.pkg), spec.Name.Name, count))
			}
			return true
		})
	}
	return broken
}
