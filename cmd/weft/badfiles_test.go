package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// crash is how a Go program tells that it broke.
var crash = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+|SIG[A-Z]+)`)

// TestBadFiles spoils one file after the other that a daemon uses, in a random way, before its start or while it runs.
// The daemon never hangs and never crashes: it names the file and ends, or goes on, and ends by SIGTERM. WEFT_BADFILES
// says how many files, WEFT_SEED which ones.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	count := int(fromEnv(t, "WEFT_BADFILES", 12))
	seed := fromEnv(t, "WEFT_SEED", rand.Uint64())
	t.Logf("WEFT_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up() // leaves all files
	d.terminate("n1")
	d.terminate(theServer)
	files := map[string][]string{theServer: d.files("server.", "run", "tls", "policy"), "n1": d.files("n1", "policy")}
	for range count {
		name := []string{theServer, "n1"}[random.IntN(2)]
		path := files[name][random.IntN(len(files[name]))]
		whole, err := os.ReadFile(path)
		d.must(err)
		info, err := os.Stat(path)
		d.must(err)
		running := random.IntN(3) == 0
		d.must(os.RemoveAll(d.path(name + ".log")))
		if running {
			d.start(name)
			d.settled(name)
		}
		kind := d.spoil(random, path, whole)
		t.Logf("%s: %s, running %v", path, kind, running)
		if !running {
			d.start(name)
			d.settled(name)
		}
		d.gone(name)
		said := d.log(name)
		code := d.procs[name].ProcessState.ExitCode()
		what := strings.TrimPrefix(path, d.dir) + ": " + kind
		if crash.MatchString(said) || !slices.Contains([]int{0, 1, 2}, code) {
			t.Errorf("%s, running %v: %s crashed with %d:\n%s", what, running, name, code, said)
		}
		named := []string{path, "/dev/zero"}
		if kind == "nothing" { // the folder lacks it
			named = append(named, filepath.Dir(path)+": ")
		}
		cut := kind == "part" || kind == "cut in place"
		if strings.HasSuffix(path, ".hcl") && cut { // perhaps between two settings: it is right then, and has defaults
			named = append(named, " /etc/weft/")
		}
		if strings.HasSuffix(path, ".policy.hcl") { // another policy may fail its tests
			named = append(named, "_test.policy.hcl:")
		}
		if code != 0 && !slices.ContainsFunc(named, func(s string) bool { return strings.Contains(said, s) }) {
			t.Errorf("%s, running %v: %s ends with %d and does not name the file:\n%s", what, running, name, code, said)
		}
		d.must(os.RemoveAll(path))
		d.must(os.WriteFile(path, whole, info.Mode()))
	}
	d.up()
}

// files are the regular files whose path begins in one of these ways.
func (d *daemons) files(begin ...string) (out []string) {
	d.must(filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(d.dir, path)
		mine := slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(rel, b) })
		if err == nil && mine && e.Type().IsRegular() && !strings.HasSuffix(rel, ".log") {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// spoil puts something else in a file's place, or cuts it where it lies, and tells what.
func (d *daemons) spoil(random *rand.Rand, path string, whole []byte) string {
	bad := slices.Clone(whole)
	for range 1 + random.IntN(8) {
		if len(bad) > 0 {
			bad[random.IntN(len(bad))] ^= byte(1 << random.IntN(8))
		}
	}
	kinds := []struct {
		name string
		put  func() error
	}{
		{"FIFO", func() error { return syscall.Mkfifo(path, 0o600) }},
		{"folder", func() error { return os.Mkdir(path, 0o700) }},
		{"circle of links", func() error { return os.Symlink(path, path) }},
		{"link to nowhere", func() error { return os.Symlink(filepath.Join(path, "none"), path) }},
		{"device", func() error { return os.Symlink("/dev/zero", path) }},
		{"nothing", func() error { return nil }},
		{"empty", func() error { return os.WriteFile(path, nil, 0o600) }},
		{"part", func() error { return os.WriteFile(path, whole[:random.IntN(len(whole)+1)], 0o600) }},
		{"flipped bits", func() error { return os.WriteFile(path, bad, 0o600) }},
	}
	i := random.IntN(len(kinds) + 1)
	if i == len(kinds) {
		d.must(os.Truncate(path, random.Int64N(int64(len(whole))+1)))
		return "cut in place"
	}
	for { // a running daemon may write the file again meanwhile
		d.must(os.RemoveAll(path))
		err := kinds[i].put()
		if !errors.Is(err, fs.ErrExist) {
			d.must(err)
			return kinds[i].name
		}
	}
}

// settled waits until a daemon serves or has ended.
func (d *daemons) settled(name string) {
	d.until(name+" serves or ends", func() (bool, string) {
		return over(d.procs[name]) || strings.Contains(d.log(name), "msg=serving"), d.log(name)
	})
}

// gone ends a daemon that has not ended.
func (d *daemons) gone(name string) {
	if !over(d.procs[name]) {
		d.terminate(name)
		return
	}
	_ = d.procs[name].Wait()
}
