package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	helpRule    = "the help of weft is in plain English"
	helpColumns = 80 // of a line of help: a usual terminal
)

var helpRules = []rule{{
	name: helpRule,
	why:  "the help is the first English that a user reads; " + later + " does not excuse it",
	check: func(t *tree) []string {
		var broken []string
		for _, f := range t.files {
			if !f.test && strings.HasPrefix(f.path, "cmd/weft/") {
				for _, h := range helpTexts(t, f) {
					broken = append(broken, plainHelp(h)...)
				}
			}
		}
		return broken
	},
}}

// flagMethod matches the methods of pflag that define a flag; their last argument is its help.
var flagMethod = regexp.MustCompile(`^(Bool|Count|Duration|Int|String|Uint)[A-Za-z0-9]*Var(P|)$`)

// helpTexts are the texts of a file's cobra commands and flags.
func helpTexts(t *tree, f *source) []passage {
	var found []passage
	add := func(e ast.Expr) {
		if text := spelled(e); text != "" {
			found = append(found, passage{at: t.at(e.Pos()), text: text})
		}
	}
	texts := []string{"Short", "Long", "Example"}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(texts, key.Name) {
				add(n.Value)
			}
		case *ast.AssignStmt:
			if field, ok := n.Lhs[0].(*ast.SelectorExpr); ok && slices.Contains(texts, field.Sel.Name) {
				add(n.Rhs[0])
			}
		case *ast.CallExpr:
			_, name, _ := strings.Cut(called(n), ".")
			switch {
			case name == "Holder" && len(n.Args) > 1:
				add(n.Args[1])
			case (name == "NodeFlag" || flagMethod.MatchString(name)) && len(n.Args) > 2:
				add(n.Args[len(n.Args)-1])
			}
		}
		return true
	})
	return found
}

// spelled is the text of a string expression, with X for each part that is not a literal.
func spelled(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return spelled(e.X) + spelled(e.Y)
		}
	}
	return "X"
}

// plainHelp lists the wide lines of a help text, and the sentences that stop a reader. An indented line is its own.
func plainHelp(h passage) []string {
	var broken []string
	var text strings.Builder
	for line := range strings.SplitSeq(h.text+"\n", "\n") {
		if columns := utf8.RuneCountInString(line); columns > helpColumns && strings.Contains(h.text, "\n") {
			broken = append(broken, fmt.Sprintf("%s: a line of help has %d columns: %q", h.at, columns, line))
		}
		if line == "" || strings.HasPrefix(line, "  ") {
			broken = append(broken, stops(passage{h.at, text.String()})...)
			text.Reset()
		}
		text.WriteString(strings.TrimSpace(line) + " ")
	}
	return append(broken, stops(passage{h.at, text.String()})...)
}
