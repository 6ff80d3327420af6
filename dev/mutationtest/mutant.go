package mutationtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Mutants are the mutated functions, by file from the module's root. One binary has them all, since a build takes
// longer than the trials that catch most mutations.
type Mutants map[string][]mutant

// mutant is the body of a mutated function. The right function runs it first, and only where mutantSwitch names it.
type mutant struct {
	at   int // in the right file
	text string
}

// Switch is the environment variable that names the mutation that a process has; "": none.
const Switch = "WEFT_MUTATION"

// mutantSwitch goes into each package that has mutants.
const mutantSwitch = "package %s\n\nimport \"os\"\n\nvar mutated = os.Getenv(\"" + Switch + "\")\n"

// fromRoot is the path of a file. Tests run in a folder that is two below the module's root.
func fromRoot(file string) (string, error) {
	return filepath.Abs(filepath.Join("../..", filepath.FromSlash(file)))
}

// Add takes a mutation. The error says that the source has changed, so that it no longer applies.
func (all Mutants) Add(m Mutation) error {
	right, err := fromRoot(m.File)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(right)
	if err != nil {
		return err
	}
	text := string(data)
	if n := strings.Count(text, m.old); n != 1 {
		return fmt.Errorf("it no longer applies: %s has %d times\n%s", m.File, n, m.old)
	}
	same := 0 // what both begin with, such as a function's signature
	for same < min(len(m.old), len(m.new)) && m.old[same] == m.new[same] {
		same++
	}
	first := strings.Index(text, m.old) + same
	tree, err := parser.ParseFile(token.NewFileSet(), right, data, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin, end := int(f.Body.Lbrace-tree.FileStart)+1, int(f.Body.Rbrace-tree.FileStart)
		if first < begin || first > end {
			continue
		}
		changed := strings.Replace(text, m.old, m.new, 1)
		body := changed[begin : end+len(changed)-len(text)]
		if f.Type.Results == nil {
			body += "\nreturn\n"
		}
		all[m.File] = append(all[m.File], mutant{begin, fmt.Sprintf("\nif mutated == %q {%s}\n", m.Name, body)})
		return nil
	}
	return errors.New("it changes more than the body of one function")
}

// Overlay is the path of a file for `go build -overlay` that puts all mutants in.
func (all Mutants) Overlay(t testing.TB) string {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	replaced := map[string]string{}
	put := func(file, text string) {
		from, err := fromRoot(file)
		must(err)
		replaced[from] = filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		must(os.WriteFile(replaced[from], []byte(text), 0o600))
	}
	for file, list := range all {
		right, err := fromRoot(file)
		must(err)
		data, err := os.ReadFile(right)
		must(err)
		slices.SortFunc(list, func(a, b mutant) int { return b.at - a.at })
		for _, m := range list {
			data = slices.Insert(data, m.at, []byte(m.text)...)
		}
		put(file, string(data))
		folder := path.Dir(file)
		put(folder+"/mutated.go", fmt.Sprintf(mutantSwitch, path.Base(folder)))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	must(err)
	listing := filepath.Join(dir, "overlay.json")
	must(os.WriteFile(listing, overlay, 0o600))
	return listing
}
