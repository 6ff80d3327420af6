// Package cgroup makes groups of processes with bounds of the kernel, below the group that systemd has delegated to
// this process (Delegate= in its unit).
package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Tree is this process's own group: one folder in version 2, one in each of two hierarchies in version 1.
type Tree struct {
	version      int
	memory, pids string
}

// Delegated is the own group of this process; nil where systemd has not delegated it. Version 2 lets only groups
// without processes bound their children, so this process moves into a child there.
var Delegated = sync.OnceValues(func() (*Tree, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	t := find("/sys/fs/cgroup", string(text), delegated)
	if t == nil || t.version == 1 {
		return t, nil
	}
	if err := t.vacate(); err != nil {
		return nil, fmt.Errorf("cgroup %s: %w", t.memory, err)
	}
	return t, nil
})

// find knows the layouts of systemd: version 2 alone, version 1 alone, and version 1 with the processes in version 2
// as well.
func find(root, text string, delegated func(folder string) bool) *Tree {
	own := paths(text)
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		if folder := filepath.Join(root, own[""]); delegated(folder) {
			return &Tree{2, folder, folder}
		}
		return nil
	}
	unit := own["name=systemd"]
	if unit == "" || own["memory"] != unit || own["pids"] != unit {
		return nil
	}
	if !delegated(filepath.Join(root, "systemd", unit)) && !delegated(filepath.Join(root, "unified", own[""])) {
		return nil
	}
	return &Tree{1, filepath.Join(root, "memory", unit), filepath.Join(root, "pids", unit)}
}

// paths reads /proc/PID/cgroup: the group's path by controller, "" for version 2.
func paths(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, controller := range strings.Split(parts[1], ",") {
			out[controller] = parts[2]
		}
	}
	return out
}

// delegated reports whether systemd has marked a group. Only CAP_SYS_ADMIN reads the first mark; systemd sets the
// second since version 251.
func delegated(folder string) bool {
	value := make([]byte, 8)
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		if n, err := unix.Getxattr(folder, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// vacate moves this process into a child and has the kernel bound the other children.
func (t *Tree) vacate() error {
	leaf := filepath.Join(t.memory, "daemon")
	if err := os.Mkdir(leaf, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	if err := write(leaf, "cgroup.procs", os.Getpid()); err != nil {
		return err
	}
	return write(t.memory, "cgroup.subtree_control", "+memory +pids")
}

func (t *Tree) String() string { return fmt.Sprint("cgroup v", t.version) }

func write(folder, name string, value any) error {
	return os.WriteFile(filepath.Join(folder, name), []byte(fmt.Sprint(value)), 0o644)
}
