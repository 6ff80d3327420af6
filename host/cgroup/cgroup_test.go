package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The texts are those of systemd 255 on version 2, of systemd 239 on version 1, and of systemd 249 on both.
func TestFind(t *testing.T) {
	const v1 = "12:memory:/s/w.service\n9:cpu,cpuacct:/\n5:pids:/s/w.service\n1:name=systemd:/s/w.service\n"
	for _, c := range []struct {
		name, text, marked string
		unified            bool
		want               *Tree
	}{
		{"version 2", "0::/s/w.service\n", "s/w.service", true, &Tree{2, "s/w.service", "s/w.service"}},
		{"version 2, not delegated", "0::/s/w.service\n", "", true, nil},
		{"version 2, the child of one", "0::/w.service/daemon\n", "w.service", true, nil},
		{"version 1", v1, "systemd/s/w.service", false, &Tree{1, "memory/s/w.service", "pids/s/w.service"}},
		{
			"both", v1 + "0::/s/w.service\n", "unified/s/w.service", false,
			&Tree{1, "memory/s/w.service", "pids/s/w.service"},
		},
		{"version 1, not delegated", v1, "", false, nil},
		{
			"memory of the whole machine", strings.Replace(v1, "memory:/s/w.service", "memory:/", 1), "systemd/s/w.service",
			false, nil,
		},
		{"no systemd", "12:memory:/\n5:pids:/\n", "systemd", false, nil},
		{"garbage", "\n::::\n1:\n\xff", "", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			if c.unified {
				if err := write(root, "cgroup.controllers", "memory pids"); err != nil {
					t.Fatal(err)
				}
			}
			got := find(root, c.text, func(folder string) bool { return folder == filepath.Join(root, c.marked) })
			if c.want != nil {
				c.want.memory, c.want.pids = filepath.Join(root, c.want.memory), filepath.Join(root, c.want.pids)
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(Tree{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func FuzzPaths(f *testing.F) {
	f.Add("0::/a\n4:cpu,cpuacct:/b:c\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, path := range paths(text) {
			if !strings.Contains(text, ":"+path) {
				t.Errorf("%q: %q", text, path)
			}
		}
	})
}

func TestWhatIsWritten(t *testing.T) {
	for version, want := range map[int]map[string]string{
		1: {"memory.limit_in_bytes": "4096", "memory.memsw.limit_in_bytes": "4096", "pids.max": "7"},
		2: {"memory.max": "4096", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "7"},
	} {
		tree := &Tree{version, t.TempDir(), t.TempDir()}
		if version == 2 {
			tree.pids = tree.memory
		}
		g, err := tree.Make("a", 4096, 7)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, written(t, g.memory, g.pids)); d != "" {
			t.Errorf("version %d: %s", version, d)
		}
	}
	own := &Tree{2, t.TempDir(), ""}
	if err := own.vacate(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"cgroup.subtree_control": "+memory +pids", "cgroup.procs": fmt.Sprint(os.Getpid())}
	if d := cmp.Diff(want, written(t, own.memory, filepath.Join(own.memory, "daemon"))); d != "" {
		t.Error(d)
	}
}

func written(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Base(f)] = string(text)
		}
	}
	return out
}

func TestStarved(t *testing.T) {
	for text, want := range map[string]bool{
		"low 0\noom 1\noom_kill 1\n": true, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n": true,
		"oom 1\noom_kill 0\n": false, "": false,
	} {
		for version, name := range map[int]string{1: "memory.oom_control", 2: "memory.events"} {
			g := &Group{tree: &Tree{version: version}, memory: t.TempDir()}
			if err := write(g.memory, name, text); err != nil {
				t.Fatal(err)
			}
			if got := g.Starved(); got != want {
				t.Errorf("version %d: %q: %v", version, text, got)
			}
		}
	}
}

// A program may have a child before it is in its group.
func TestAddTakesTheChildren(t *testing.T) {
	tree := &Tree{1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"}
	g, err := tree.Make("weft-test", 64<<20, 8)
	if err != nil {
		t.Skip("NOT RUN: a group of cgroup v1: ", err)
	}
	t.Cleanup(g.Remove)
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & echo; wait")
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // its child is there
		t.Fatal(err)
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	if got := g.Processes(); len(got) != 2 || !slices.Contains(got, cmd.Process.Pid) {
		t.Errorf("%d and its child: in the group are %v", cmd.Process.Pid, got)
	}
	for _, pid := range g.Processes() {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	_ = cmd.Wait()
	for len(g.Processes()) > 0 {
		runtime.Gosched()
	}
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}
