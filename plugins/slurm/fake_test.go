package slurm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people/peopletest"
	"github.com/weft-hpc/weft/rpc/rpctest"
)

// fake is a Slurm as its commands show it: records of fixed width, as squeue 22.05.8 prints them.
type fake struct {
	mu    sync.Mutex
	jobs  []map[string]string // by column
	nodes []map[string]string
	users *peopletest.Table // nil: tester
	calls []string

	config string // of scontrol
	level  string // the users that slurmctld's association manager has
	away   error  // of scontrol

	err  error
	hold func(ctx context.Context, line string) error // before a command answers
}

// tester is the user of all jobs.
var tester = peopletest.Table{
	Users:  map[uint32]string{1001: "tester"},
	Groups: map[uint32]string{1001: "tester", 2001: "ops", 2002: "domain users"},
	Member: map[string][]uint32{"tester": {1001, 2002, 2001}},
}

// bare is a plugin whose methods give way to those of a wired one.
type bare struct{ *Plugin }

// wired is a plugin that tests call through rpc, as a daemon does.
type wired struct {
	*rpctest.Adapter
	bare
}

// adapter is a plugin that talks to the fake.
func (f *fake) adapter(t testing.TB) wired {
	p := NewWith("tioga", f.run)
	return wired{rpctest.Wire(t, p), bare{p}}
}

// a job that runs, with whatever is said to be different.
func (f *fake) job(id string, more ...string) {
	j := map[string]string{
		"JobID": id, "HetJobID": "N/A", "ArrayJobID": id, "ArrayTaskID": "N/A", "UserID": "1001", "GroupID": "1001", "State": "RUNNING", "SubmitTime": "1795836284", "StartTime": "1795836290",
		"RestartCnt": "0", "BatchFlag": "1", "Requeue": "1", "NumNodes": "3", "NumCPUs": "7", "OverSubscribe": "OK", "NodeList": "n[1-3]", "UserName": "tester", "GroupName": "tester",
		"Partition": "main", "QOS": "normal", "Reservation": "(null)", "TimeLimit": "UNLIMITED", "Feature": "(null)", "Account": "(null)", "Network": "(null)",
	}
	for i := 0; i < len(more); i += 2 {
		j[more[i]] = more[i+1]
	}
	f.jobs = append(f.jobs, j)
}

func (f *fake) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	line := strings.Join(append([]string{name}, args...), " ")
	f.mu.Lock()
	f.calls = append(f.calls, line)
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		if err := hold(ctx, line); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return nil, f.err
	case name == "squeue":
		return f.squeue(args)
	case name == "sinfo":
		var some []map[string]string
		for _, n := range f.nodes {
			if n["NodeList"] == after(args, "-n") || slices.Contains(args, "-e") || after(args, "-t") == "drain" && strings.HasPrefix(n["StateLong"], "drain") {
				some = append(some, n)
			}
		}
		return printed(after(args, "-O"), some), nil
	case name == "scontrol" && slices.Equal(args, []string{"show", "config"}):
		return []byte(f.config), f.away
	case name == "scontrol" && slices.Contains(args, "assoc_mgr"):
		return []byte(f.level), nil
	case f.users != nil:
		return f.users.Run(ctx, name, args...)
	case name == "getent" || name == "id":
		return tester.Run(ctx, name, args...)
	}
	return nil, nil
}

func (f *fake) squeue(args []string) ([]byte, error) {
	some := f.jobs
	if ids := after(args, "-j"); ids != "" {
		some = nil
		wanted := strings.Split(ids, ",")
		for _, j := range f.jobs {
			if slices.Contains(wanted, j["JobID"]) || slices.Contains(wanted, j["HetJobID"]) || slices.Contains(wanted, j["ArrayJobID"]) {
				some = append(some, j)
			}
		}
		if len(wanted) == 1 && len(some) == 0 {
			return nil, &command.Failure{Command: "squeue", Says: "slurm_load_jobs error: Invalid job id specified", Code: 1}
		}
	}
	return printed(after(args, "-O"), some), nil
}

// did are the commands that change something.
func (f *fake) did() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(s string) bool {
		return strings.HasPrefix(s, "scontrol show config") || strings.HasPrefix(s, "squeue") || strings.HasPrefix(s, "sinfo") || strings.HasPrefix(s, "getent") || strings.HasPrefix(s, "id ")
	})
}

func after(args []string, flag string) string {
	if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// printed prints as squeue does: each field padded or cut to its width in bytes, nothing between them, newlines as they are.
func printed(format string, rows []map[string]string) []byte {
	var out []byte
	for _, r := range rows {
		for field := range strings.SplitSeq(format, ",") {
			name, number, _ := strings.Cut(field, ":")
			width := 0
			if _, err := fmt.Sscan(number, &width); err != nil {
				panic(err)
			}
			value, ok := r[name]
			if !ok && name == colExclusive {
				continue // as squeue before 26.05
			}
			if !ok {
				panic("no column " + name)
			}
			if len(value) > width {
				value = value[:width]
			}
			out = append(out, value...)
			out = append(out, strings.Repeat(" ", width-len(value))...)
		}
		out = append(out, '\n')
	}
	return out
}

var root = core.Peer{}

// noteOf is what Prolog leaves.
func noteOf(t *testing.T, n note) []byte {
	t.Helper()
	text, err := n.encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
