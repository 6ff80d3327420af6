package rules

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tree is the repository as the rules see it.
type tree struct {
	fset   *token.FileSet
	module string
	files  []*source         // Go files
	texts  map[string]string // every text file by path, Go files included
}

// source is one Go file.
type source struct {
	path  string // from the repository's root
	pkg   string // its folder: "core/engine"; "." is the root
	test  bool
	lines int
	ast   *ast.File
}

const maxText = 1 << 20

// skipped folders hold nothing that is committed. In a git worktree .git is a file.
var skipped = []string{".git", "bin", "weft.dev", "vendor"}

func load(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), texts: map[string]string{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // another test's file, gone meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular() || name == "cover.out" || name == ".git":
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxText {
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil
		}
		t.texts[name] = string(text)
		if path.Ext(name) != ".go" || strings.Contains("/"+name, "/testdata/") {
			return nil
		}
		file, err := parser.ParseFile(t.fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		t.files = append(t.files, &source{
			path:  name,
			pkg:   path.Dir(name),
			test:  strings.HasSuffix(name, "_test.go"),
			lines: bytes.Count(text, []byte("\n")),
			ast:   file,
		})
		return nil
	})
	if m := regexp.MustCompile(`(?m)^module (\S+)$`).FindStringSubmatch(t.texts["go.mod"]); m != nil {
		t.module = m[1]
	}
	return t, err
}

// at is where p is, as "file:line".
func (t *tree) at(p token.Pos) string {
	where := t.fset.Position(p)
	return fmt.Sprintf("%s:%d", where.Filename, where.Line)
}

// imports are a file's imports; the repository's own are written "./core/engine".
func (t *tree) imports(f *source) map[string]token.Pos {
	found := map[string]token.Pos{}
	for _, spec := range f.ast.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		if own, ok := strings.CutPrefix(name, t.module+"/"); ok {
			name = "./" + own
		}
		found[name] = spec.Pos()
	}
	return found
}

// uses calls found for each mention of a name of an imported package: uses(f, "time", …) finds time.Now and also
// now := time.Now.
func (t *tree) uses(f *source, pkg string, found func(name string, at token.Pos)) {
	local := ""
	for _, spec := range f.ast.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p != pkg {
			continue
		}
		local = path.Base(pkg)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." {
			found("all of it by a dot import", spec.Pos())
		}
	}
	if local == "" {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && x.Obj == nil {
				found(sel.Sel.Name, sel.Pos())
			}
		}
		return true
	})
}

// under reports whether p is one of roots or lies below one.
func under(p string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return p == root || strings.HasPrefix(p, root+"/") })
}

// standard reports whether an import is of Go's own library.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".") && p != "C"
}
