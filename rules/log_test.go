package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// loggers are slog's methods, with how many arguments come before the keys.
var loggers = map[string]int{
	"With": 0, "Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "Log": 3, "LogAttrs": 3,
}

// foreignKeys are files whose lines are somebody else's, keys and all.
var foreignKeys = []string{"host/output.go"}

const logKeyRule = "a line of the log has the keys of core/log.go only"

var logRules = []rule{{
	name:  logKeyRule,
	why:   "a site finds a job, a node, a VNI or a hook's call under one key, whichever daemon speaks of it; a new key gets its constant there",
	check: logKeys,
}}

func logKeys(t *tree) []string {
	known := constants(t)
	packages := map[string]*speech{}
	for _, f := range t.files {
		if f.test || slices.Contains(foreignKeys, f.path) {
			continue
		}
		s := packages[f.pkg]
		if s == nil {
			s = &speech{tree: t, known: known, core: f.pkg == "core", funcs: map[string]*ast.FuncDecl{}, seen: map[string]bool{}}
			packages[f.pkg] = s
		}
		if _, ok := t.imports(f)["log/slog"]; ok {
			s.speaks = true
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				s.funcs[fn.Name.Name] = fn
				s.all = append(s.all, fn)
			}
		}
	}
	var broken []string
	for _, s := range packages {
		if s.speaks {
			s.ofCore = packages["core"]
			broken = append(broken, s.check()...)
		}
	}
	slices.Sort(broken)
	return slices.Compact(broken)
}

// constants are the keys, by the constant's name.
func constants(t *tree) map[string]string {
	known := map[string]string{}
	for _, f := range t.files {
		if f.path != "core/log.go" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					known[v.Names[0].Name], _ = strconv.Unquote(lit.Value)
				}
			}
			return true
		})
	}
	return known
}

// speech is what one package says in the log.
type speech struct {
	tree   *tree
	known  map[string]string
	core   bool
	speaks bool
	ofCore *speech                  // package core, whose functions give keys to all
	funcs  map[string]*ast.FuncDecl // by name; methods too
	all    []*ast.FuncDecl
	seen   map[string]bool
	broken []string
}

func (s *speech) check() []string {
	for _, fn := range s.all {
		calls(fn.Body, func(c *ast.CallExpr) {
			if n, ok := logger(c); ok {
				s.pairs(fn, c.Args, n, c.Ellipsis.IsValid())
			}
		})
	}
	return s.broken
}

func calls(n ast.Node, f func(*ast.CallExpr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			f(c)
		}
		return true
	})
}

// logger reports whether c speaks to a log, which by its name has "log" or "audit" in it, and how many arguments come before the keys.
func logger(c *ast.CallExpr) (int, bool) {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return 0, false
	}
	n, ok := loggers[sel.Sel.Name]
	if !ok {
		return 0, false
	}
	if inner, ok := sel.X.(*ast.CallExpr); ok { // log.With(…).Info(…)
		_, ok := logger(inner)
		return n, ok
	}
	name := strings.ToLower(last(sel.X))
	return n, strings.HasSuffix(name, "log") || strings.HasSuffix(name, "logger") || strings.HasSuffix(name, "audit")
}

// last is the last name of an expression like s.needs.Log.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// pairs checks keys and values from the n-th argument on; spread says that the last is a list of them.
func (s *speech) pairs(in *ast.FuncDecl, args []ast.Expr, n int, spread bool) {
	for i := n; i < len(args); i++ {
		if spread && i == len(args)-1 {
			s.list(in, args[i])
			return
		}
		if c, ok := args[i].(*ast.CallExpr); ok {
			if sel, ok := c.Fun.(*ast.SelectorExpr); ok && last(sel.X) == "slog" { // slog.String(key, value)
				s.key(c.Args[0])
				if sel.Sel.Name == "Group" {
					s.pairs(in, c.Args, 1, c.Ellipsis.IsValid())
				}
				continue
			}
		}
		s.key(args[i])
		i++
	}
}

func (s *speech) key(e ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		for _, known := range s.known {
			if text == known {
				return
			}
		}
	case *ast.SelectorExpr:
		if _, ok := s.known[e.Sel.Name]; ok && last(e.X) == "core" {
			return
		}
	case *ast.Ident:
		if _, ok := s.known[e.Name]; ok && s.core {
			return
		}
	}
	s.fail(e.Pos(), "a key that is none of core/log.go")
}

func (s *speech) fail(at token.Pos, what string) {
	s.broken = append(s.broken, fmt.Sprintf("%s: %s", s.tree.at(at), what))
}

// list checks a list of keys and values where it was made: here, in this function, in another of the package, or by its callers.
func (s *speech) list(in *ast.FuncDecl, e ast.Expr) {
	switch e := e.(type) {
	case *ast.CompositeLit:
		s.pairs(in, e.Elts, 0, false)
	case *ast.CallExpr:
		name := last(e.Fun)
		fn := s.funcs[name]
		switch {
		case name == "append":
			s.list(in, e.Args[0])
			s.pairs(in, e.Args, 1, e.Ellipsis.IsValid())
		case name == "make":
		case name == "Clip" || name == "Clone":
			s.list(in, e.Args[0])
		case fn != nil:
			s.returned(fn)
		case s.ofCore != nil && s.ofCore.funcs[name] != nil:
			s.ofCore.broken = nil
			s.ofCore.returned(s.ofCore.funcs[name])
			s.broken = append(s.broken, s.ofCore.broken...)
		default:
			s.fail(e.Pos(), "keys that come from elsewhere")
		}
	case *ast.Ident:
		s.variable(in, e)
	default:
		s.fail(e.Pos(), "keys that come from elsewhere")
	}
}

func (s *speech) returned(fn *ast.FuncDecl) {
	if s.visited("return of " + s.tree.at(fn.Pos())) {
		return
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			s.list(fn, r.Results[0])
		}
		return true
	})
}

// variable checks what is assigned to a variable of a function, or given for its parameter.
func (s *speech) variable(in *ast.FuncDecl, v *ast.Ident) {
	if v.Name == "nil" || s.visited(s.tree.at(in.Pos())+" "+v.Name) {
		return
	}
	found := false
	ast.Inspect(in.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for i, to := range a.Lhs {
				if last(to) == v.Name && i < len(a.Rhs) {
					found = true
					s.list(in, a.Rhs[i])
				}
			}
		}
		return true
	})
	place := 0
	for _, p := range in.Type.Params.List {
		_, variadic := p.Type.(*ast.Ellipsis)
		for _, name := range p.Names {
			if name.Name == v.Name {
				found = true
				s.given(in.Name.Name, place, variadic)
			}
			place++
		}
	}
	if !found {
		s.fail(v.Pos(), "keys that come from elsewhere")
	}
}

// given checks the argument of every call of a function of the package.
func (s *speech) given(name string, place int, variadic bool) {
	for _, fn := range s.all {
		calls(fn.Body, func(c *ast.CallExpr) {
			switch {
			case last(c.Fun) != name || len(c.Args) <= place:
			case variadic:
				s.pairs(fn, c.Args, place, c.Ellipsis.IsValid())
			default:
				s.list(fn, c.Args[place])
			}
		})
	}
}

func (s *speech) visited(what string) bool {
	was := s.seen[what]
	s.seen[what] = true
	return was
}
