package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Group holds the processes of one run of a program.
type Group struct {
	tree         *Tree
	memory, pids string
}

// Make makes an empty group for processes with so many bytes of memory, and so many processes and threads.
func (t *Tree) Make(name string, memory int64, processes int) (*Group, error) {
	folder, err := os.MkdirTemp(t.memory, name+".*")
	if err != nil {
		return nil, err
	}
	g := &Group{t, folder, filepath.Join(t.pids, filepath.Base(folder))}
	if t.version == 1 {
		err = os.Mkdir(g.pids, 0o755)
	}
	for _, b := range []struct {
		version  int
		name     string
		value    any
		optional bool
	}{
		{1, "memory.limit_in_bytes", memory, false},
		{1, "memory.memsw.limit_in_bytes", memory, true}, // no kernel without accounts of swap has it
		{2, "memory.max", memory, false},
		{2, "memory.swap.max", 0, true},  // as above
		{2, "memory.oom.group", 1, true}, // Linux 4.19
	} {
		if err == nil && b.version == t.version {
			if err = write(g.memory, b.name, b.value); b.optional && errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
	}
	if err == nil {
		err = write(g.pids, "pids.max", processes)
	}
	if err != nil {
		g.Remove()
		return nil, err
	}
	return g, nil
}

// Add moves a process that has just begun into the group, with the children that it has already. One that has ended is
// no error.
func (g *Group) Add(pid int) error {
	for _, folder := range []string{g.memory, g.pids} {
		if err := write(folder, "cgroup.procs", pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(text)) {
			if n, bad := strconv.Atoi(child); bad == nil {
				err = errors.Join(err, g.Add(n))
			}
		}
	}
	return err
}

// Seal lets nothing in the group start another process.
func (g *Group) Seal() error { return write(g.pids, "pids.max", 0) }

// Processes are those in the group, without the dead.
func (g *Group) Processes() []int {
	var out []int
	text, _ := os.ReadFile(filepath.Join(g.pids, "cgroup.procs"))
	for _, word := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(word); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// Starved reports whether the kernel has killed a process of the group for its memory.
func (g *Group) Starved() bool {
	name := "memory.events"
	if g.tree.version == 1 {
		name = "memory.oom_control"
	}
	text, _ := os.ReadFile(filepath.Join(g.memory, name))
	for line := range strings.Lines(string(text)) {
		if name, count, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" && count != "0" {
			return true
		}
	}
	return false
}

// Remove removes an empty group.
func (g *Group) Remove() {
	_ = os.Remove(g.pids) // systemd removes what stays, with the unit
	_ = os.Remove(g.memory)
}
