package slurm

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/core/scheduler"
)

// Bounds of what sacct printed.
const (
	maxAccountLine = 1 << 20 // bytes
	MaxAccounted   = 1 << 20 // jobs
)

// Accounted is a job of the past. What its user asked for with --network is not in it: sacct has no such field.
type Accounted struct {
	Job         core.Job
	Start, Ends time.Time // Ends zero: it runs
}

// SacctFields are what Sacct needs: sacct -a -X -P -o with them.
const SacctFields = "JobID,User,UID,Account,Partition,NodeList,AllocCPUS,Start,End"

// SacctMore is what Sacct reads besides. Constraints is the last, since it may hold a |.
const SacctMore = "QOS,Reservation,TimelimitRaw,Constraints"

const sacctRemedy = "print them with sacct -a -X -P -o " + SacctFields

const sacctTime = "2006-01-02T15:04:05"

// Sacct reads what `sacct -P` prints, its heading included; further columns are passed over. Steps, and jobs that never started, are left out. CPUs stand for
// cores, evenly on all nodes, since sacct knows no more. Times are of zone.
func Sacct(r io.Reader, name string, zone *time.Location) ([]Accounted, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxAccountLine)
	var at map[string]int
	var out []Accounted
	for n := 1; s.Scan(); n++ {
		cells := strings.Split(strings.TrimRight(s.Text(), "\r"), "|")
		if at == nil {
			at = map[string]int{}
			for i, name := range cells {
				at[strings.ToLower(name)] = i
			}
			for column := range strings.SplitSeq(SacctFields, ",") {
				if _, ok := at[strings.ToLower(column)]; !ok && column != "UID" {
					return nil, core.Errorf(core.BadCall, "sacct: line 1: there is no column %s", column).WithRemedy(sacctRemedy)
				}
			}
			continue
		}
		if len(cells) == 1 && cells[0] == "" {
			continue
		}
		if len(cells) < len(at) {
			return nil, core.Errorf(core.BadCall, "sacct: line %d: it has %d columns, and the heading %d", n, len(cells), len(at)).WithRemedy(sacctRemedy)
		}
		if last, ok := at["constraints"]; ok && last == len(at)-1 {
			cells[last] = strings.Join(cells[last:], "|")
		}
		a, ok, err := accounted(func(name string) string {
			if i, ok := at[name]; ok {
				return cells[i]
			}
			return ""
		}, name, zone)
		a.Job.Told = accountedTold(at, cells)
		if err != nil {
			return nil, core.Errorf(core.BadCall, "sacct: line %d: %w", n, err).WithRemedy(sacctRemedy)
		}
		if !ok {
			continue
		}
		if len(out) == MaxAccounted {
			return nil, core.Errorf(core.BadCall, "sacct: there are more than %d jobs", MaxAccounted)
		}
		out = append(out, a)
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, core.Errorf(core.BadCall, "sacct: a line has more than %d bytes", maxAccountLine).WithRemedy(sacctRemedy)
	} else if err != nil {
		return nil, core.Errorf(core.BadCall, "sacct: %w", err)
	}
	if at == nil {
		return nil, core.Errorf(core.BadCall, "sacct: there is no line")
	}
	return out, nil
}

// accountedTold are the facts of those columns that are there.
func accountedTold(at map[string]int, cells []string) core.Told {
	told := func(name string) *string {
		if i, ok := at[name]; ok {
			return scheduler.Told(cells[i])
		}
		return nil
	}
	t := core.Told{QOS: told("qos"), Reservation: told("reservation"), Constraints: told("constraints")}
	if limit := told("timelimitraw"); limit != nil {
		if minutes, err := strconv.ParseUint(*limit, 10, 32); err == nil {
			t.TimeLimit = new(int64(minutes) * 60)
		} else if *limit == unlimited {
			t.TimeLimit = new(core.Unlimited)
		}
	}
	return t
}

// accounted is one line; ok is false where it is no job that ran.
func accounted(cell func(string) string, name string, zone *time.Location) (a Accounted, ok bool, err error) {
	id, start := cell("jobid"), cell("start")
	hosts := cell("nodelist")
	if strings.Contains(id, ".") || start == "Unknown" || start == "None" || start == "" || hosts == "" || strings.HasPrefix(hosts, "None") {
		return a, false, nil
	}
	if a.Start, err = time.ParseInLocation(sacctTime, start, zone); err != nil {
		return a, false, core.Errorf(core.BadCall, "Start %q is no time such as %s", core.Clip(start), sacctTime)
	}
	if end := cell("end"); end != "Unknown" && end != "None" && end != "" {
		if a.Ends, err = time.ParseInLocation(sacctTime, end, zone); err != nil {
			return a, false, core.Errorf(core.BadCall, "End %q is no time such as %s", core.Clip(end), sacctTime)
		}
	}
	list, err := hostlist.Parse(hosts)
	if err != nil {
		return a, false, err
	}
	if list.Count() == 0 {
		return a, false, nil
	}
	cpus, err := strconv.ParseUint(cell("alloccpus"), 10, 31)
	if err != nil {
		return a, false, core.Errorf(core.BadCall, "AllocCPUS %q is no number", core.Clip(cell("alloccpus")))
	}
	a.Job.Scheduler, a.Job.Job = name, id
	a.Job.User, a.Job.Account, a.Job.Queue = cell("user"), cell("account"), cell("partition")
	if uid, err := strconv.ParseUint(cell("uid"), 10, 32); err == nil {
		a.Job.UID = uint32(uid)
	}
	nodes := int(list.Count())
	a.Job.Placements = []core.Placement{{Hosts: hosts, Nodes: nodes, Cores: max(1, int(cpus)/nodes)}}
	return a, true, nil
}
