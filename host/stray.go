package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lifeKey names the variable by which the children of a dead program are known where they have left its process group
// and there is no cgroup. Its value is another in each run. A subreaper would not do: it gets the orphans of living
// plugins and of commands too, and knows none from another.
const lifeKey = "WEFT_PLUGIN_LIFE"

// strays are the orphans of this user whose environment began with this variable and value.
func strays(variable string) (pids []int) {
	reapers := []int{1} // who may have got them: those above this process
	for pid := os.Getpid(); pid > 1; pid = parent(pid) {
		reapers = append(reapers, pid)
	}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if !slices.Contains(reapers, parent(pid)) {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parent is a process's; 0 for one that has ended or is another user's.
func parent(pid int) int {
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return 0
	}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // a command may hold what it likes
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// end kills the processes that list gives, until it gives none.
func end(list func() []int) {
	wait := time.Millisecond
	for pids := list(); len(pids) > 0; pids = list() {
		held := map[int]*os.Process{}
		for _, pid := range pids {
			if p, err := os.FindProcess(pid); err == nil {
				held[pid] = p
			}
		}
		for _, pid := range list() { // the number of a process that is held is no other's
			if p := held[pid]; p != nil {
				_ = p.Kill() // os.ErrProcessDone is as well
			}
		}
		for _, p := range held {
			_ = p.Release()
		}
		time.Sleep(wait)
		wait = min(2*wait, 100*time.Millisecond)
	}
}
