package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// passage is a stretch of English: a paragraph of a comment, a paragraph or cell of a page, a message.
type passage struct {
	at   string // "file:line" where it begins
	text string
}

// passages lists the English of a file. Tests speak in their comments only.
func passages(t *tree, name string) []passage {
	if path.Ext(name) == ".md" {
		return pagePassages(name, t.texts[name])
	}
	i := slices.IndexFunc(t.files, func(f *source) bool { return f.path == name })
	if i < 0 || ast.IsGenerated(t.files[i].ast) {
		return nil
	}
	return append(commentPassages(t, t.files[i]), messagePassages(t, t.files[i])...)
}

func commentPassages(t *tree, f *source) []passage {
	var found []passage
	for _, group := range f.ast.Comments {
		for _, c := range paragraphs(t.fset, group) {
			c.at = f.path + c.at
			found = append(found, c)
		}
	}
	return found
}

// paragraphs of a comment; an indented line is code.
func paragraphs(fset *token.FileSet, group *ast.CommentGroup) []passage {
	var found []passage
	open := false
	for _, c := range group.List {
		text, ok := strings.CutPrefix(c.Text, "// ")
		if !ok || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, " ") {
			open = false
			continue
		}
		if !open {
			found = append(found, passage{at: fmt.Sprintf(":%d", fset.Position(c.Pos()).Line)})
		}
		open = true
		found[len(found)-1].text += text + " "
	}
	return found
}

// speaking are the functions whose literals a person reads, and told the fields.
var (
	speaking = []string{"Errorf", "WithRemedy", "errors.New"}
	told     = []string{"Remedy", "Short", "Long", "Example", "Doc"}
)

func messagePassages(t *tree, f *source) []passage {
	if f.test {
		return nil
	}
	var found []passage
	literals := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				for _, line := range strings.Split(text, "\n") {
					found = append(found, passage{at: t.at(lit.Pos()), text: line})
				}
			}
			return true
		})
	}
	if f.path == "core/reason.go" {
		literals(f.ast)
		return found
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			name := called(n)
			if slices.ContainsFunc(speaking, func(s string) bool { return name == s || strings.HasSuffix(name, "."+s) }) {
				for _, arg := range n.Args {
					literals(arg)
				}
				_, chain := n.Fun.(*ast.SelectorExpr)
				return chain
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains(told, key.Name) {
				literals(n.Value)
				return false
			}
		}
		return true
	})
	return found
}

// called is the name of the function of a call: "errors.New", ".WithRemedy".
func called(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok {
			return x.Name + "." + fun.Sel.Name
		}
		return "." + fun.Sel.Name
	}
	return ""
}

// pagePassages reads Markdown. Each paragraph, list item and cell of a table is a passage; code and comments are none.
func pagePassages(name, text string) []passage {
	var found []passage
	open, code := false, false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			code, open = !code, false
			continue
		case code, trimmed == "", strings.HasPrefix(trimmed, "<!--"):
			open = false
			continue
		}
		for _, part := range strings.Split(trimmed, "|") {
			if !open || strings.HasPrefix(trimmed, "|") || item.MatchString(trimmed) {
				found = append(found, passage{at: fmt.Sprintf("%s:%d", name, i+1)})
			}
			found[len(found)-1].text += item.ReplaceAllString(part, "") + " "
		}
		open = !strings.HasPrefix(trimmed, "|") && !strings.HasPrefix(trimmed, "#")
	}
	return found
}

var (
	item  = regexp.MustCompile(`^(?:[-*#>]+|\d+\.)\s+`)
	code  = regexp.MustCompile("`[^`]*`")
	link  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	stars = regexp.MustCompile(`\*+`)
)

// plain takes the marks of code, links and emphasis out of a line.
func plain(line string) string {
	line = link.ReplaceAllString(line, "$1")
	return strings.TrimSpace(stars.ReplaceAllString(code.ReplaceAllString(line, "X"), ""))
}

// sentences cuts a plain text where a full stop, question mark or exclamation mark is followed by a capital letter.
func sentences(text string) []string {
	var found []string
	words := strings.Fields(text)
	from := 0
	for i, word := range words {
		last := i == len(words)-1
		if !last {
			next, _ := utf8.DecodeRuneInString(strings.TrimLeft(words[i+1], `("“`))
			end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, `)"”`))
			last = strings.ContainsRune(".?!…", end) && !unicode.IsLower(next)
		}
		if last {
			found = append(found, strings.Join(words[from:i+1], " "))
			from = i + 1
		}
	}
	return found
}
