package upgrade

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// release is one build of all programs.
type release struct {
	name string
	dir  string // of its programs
}

func (r release) path(program string) string { return filepath.Join(r.dir, program) }

// The two releases, built once. lacks says why there are none.
var (
	mark  = release{name: "mark"}
	tree  = release{name: "tree"}
	lacks string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if effort.Night() {
		effort.Together(1) // systems of many hosts
	} else {
		effort.Together(4)
	}
	dir, err := os.MkdirTemp("", "weft-upgrade")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build makes both releases in dir where the tests run.
func build(dir string) error {
	if !effort.Full() {
		return nil
	}
	if os.Geteuid() != 0 {
		lacks = "this is not root, and only root may run hooks"
		return nil
	}
	marks, err := readMarks("testdata/releases")
	if err != nil {
		return err
	}
	last := marks[len(marks)-1]
	if other := os.Getenv("WEFT_MARK"); other != "" {
		last = releaseMark{other, other}
	}
	if exec.Command("git", "cat-file", "-e", last.commit+"^{commit}").Run() != nil {
		lacks = "git does not have commit " + last.commit + " of release mark " + last.name + "; `git fetch --unshallow`"
		return nil
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	source := filepath.Join(dir, "source")
	if err := unpack(last.commit, source); err != nil {
		return err
	}
	mark.dir, tree.dir = filepath.Join(dir, "mark"), filepath.Join(dir, "tree")
	policy := filepath.Join(source, "policy", "default.policy.hcl")
	return errors.Join(mark.build(source), tree.build("../.."), copyFile(policy, mark.path("site.policy.hcl")))
}

type releaseMark struct{ commit, name string }

var markLine = regexp.MustCompile(`^([0-9a-f]{40}) ([a-z0-9.-]+)$`)

// readMarks reads the list of release marks.
func readMarks(path string) (marks []releaseMark, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		m := markLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			return nil, fmt.Errorf("%s: %q is no release mark: write COMMIT NAME", path, line)
		}
		marks = append(marks, releaseMark{m[1], m[2]})
	}
	if len(marks) == 0 {
		return nil, fmt.Errorf("%s names no release mark", path)
	}
	return marks, nil
}

// unpack writes the files of a commit to dir.
func unpack(commit, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	archive := exec.Command("git", "-C", "../..", "archive", commit)
	untar := exec.Command("tar", "-x", "-C", dir)
	pipe, err := archive.StdoutPipe()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	untar.Stdin, untar.Stderr, archive.Stderr = pipe, &said, &said
	if err := errors.Join(archive.Start(), untar.Run(), archive.Wait()); err != nil {
		return fmt.Errorf("commit %s: %w\n%s", commit, err, said.Bytes())
	}
	return nil
}

// build makes the programs of the source at root, and the test's adapter with that source.
func (r release) build(root string) error {
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return err
	}
	if err := r.compile(root, "-ldflags=-s -w -X main.version="+r.name, "./cmd/weft", "./cmd/weft-hook"); err != nil {
		return err
	}
	adapter := filepath.Join(root, "e2e/upgrade/testdata/adapter")
	if r.name == mark.name { // an older tree has no adapter, or an older one
		if err := errors.Join(os.RemoveAll(adapter), os.MkdirAll(adapter, 0o755),
			copyFile("testdata/adapter/main.go", filepath.Join(adapter, "main.go"))); err != nil {
			return err
		}
	}
	return r.compile(root, "./e2e/upgrade/testdata/adapter")
}

func (r release) compile(dir string, args ...string) error {
	c := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false", "-o", r.dir + "/"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("release %s: go build %v: %w\n%s", r.name, args, err, out)
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// need skips a test where there are no two releases to run.
func need(t *testing.T) {
	t.Helper()
	effort.NeedFull(t)
	if lacks != "" {
		t.Skip("NOT RUN: two releases beside each other: " + lacks)
	}
}

// TestMarks reads the list without its releases. Each mark has its values, which tests of those packages read.
func TestMarks(t *testing.T) {
	marks, err := readMarks("testdata/releases")
	if err != nil {
		t.Error(err)
	}
	for _, m := range marks {
		for _, folder := range []string{"rpc", "hook", "hook/rundir", "store/bolt"} {
			if _, err := os.Stat(filepath.Join("../..", folder, "testdata/released", m.name+".txt")); err != nil {
				t.Errorf("%v: CONTRIBUTING.md says how to write it", err)
			}
		}
	}
	bad := filepath.Join(t.TempDir(), "bad")
	for _, text := range []string{"", "# nothing\n", "7607664 short\n", strings.Repeat("0", 40) + "\n"} {
		if err := os.WriteFile(bad, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if marks, err := readMarks(bad); err == nil {
			t.Errorf("%q: %v", text, marks)
		}
	}
}
