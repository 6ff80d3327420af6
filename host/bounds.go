package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Bounds limit a plugin's process.
type Bounds struct {
	Memory    int64 // bytes
	Processes int   // its threads and children count too; obeyed in a cgroup alone
}

// DefaultBounds suit every plugin of Weft. A driver takes about 30 MiB and 20 threads.
var DefaultBounds = Bounds{Memory: 2 << 30, Processes: 512}

// bounds are those of the life that begins now.
func (p *Plugin) bounds() Bounds {
	if p.spec.Bounds == nil {
		return DefaultBounds
	}
	return core.OrDefault(p.spec.Bounds(), DefaultBounds)
}

// memoryEvery is how often a process's memory is looked at. A look reads one file of /proc.
const memoryEvery = time.Second

// watch keeps a process below its bound of resident memory until it ends. Go's collector of the plugin obeys
// GOMEMLIMIT, which is lower; a process that grows nevertheless is killed, before the kernel picks a job instead.
func (p *process) watch() {
	most := p.bounds.Memory
	ticker := time.NewTicker(memoryEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.Dead:
			return
		case <-ticker.C:
		}
		if has := resident(p.handle.Pid); has > most {
			p.kill(fmt.Sprintf("it took %d MiB of memory, and may have %d MiB", has>>20, most>>20))
			return
		}
	}
}

// memoryGoal is the variable by which a plugin in Go collects more often before it meets its bound.
func memoryGoal(most int64) string { return fmt.Sprint("GOMEMLIMIT=", most/4*3) }

// resident is the memory of a process in bytes, or 0 when it has ended.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
