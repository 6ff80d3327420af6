package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// named finds a call of weft in a text that people read: `weft VERB…`, in a code span.
var named = regexp.MustCompile("`weft ([^`]+)`")

// Whatever a message, a help or a document tells people to call must be there to be called.
func TestVerbsThatTextsName(t *testing.T) {
	t.Parallel()
	root := newRoot()
	root.InitDefaultHelpCmd()
	found := 0
	look := func(where, text string) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			found++
			if why := noSuchVerb(root, strings.Fields(m[1])); why != "" {
				t.Errorf("%s: `weft %s`: %s", where, m[1], why)
			}
		}
	}
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && path != top && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			look(path, string(text))
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, ".pb.go"):
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						look(path, text)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("only %d calls of weft are named: they are no longer found", found)
	}
}

// hasFlag reports whether cmd has the flag of a word like --dir, --until=4h or -N2.
func hasFlag(cmd *cobra.Command, word string) bool {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	long := strings.HasPrefix(word, "--")
	for set, more := cmd.Flags(), true; ; set, more = cmd.InheritedFlags(), false {
		if long && set.Lookup(name) != nil || !long && name != "" && set.ShorthandLookup(name[:1]) != nil {
			return true
		}
		if !more {
			return false
		}
	}
}

// noSuchVerb says why root has no such command line.
func noSuchVerb(root *cobra.Command, words []string) string {
	cmd := root
	for i, w := range words {
		switch {
		case w == "--":
			return ""
		case strings.HasPrefix(w, "-"):
			if !hasFlag(cmd, w) {
				return "it has no flag " + w
			}
			continue
		case !cmd.HasSubCommands() || i > 0 && strings.ToUpper(w) == w:
			continue
		}
		next, _, err := cmd.Find([]string{w})
		if err != nil || next == cmd {
			return "there is no verb " + w
		}
		cmd = next
	}
	return ""
}
