package slurm

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/core/scheduler"
)

// row is one job as squeue shows it: an array's task, or a component of a het job, is one of its own.
type row struct {
	job       string
	leader    string // of a het job
	array     string // of a task of an array
	task      string
	uid       uint32
	gid       uint32
	state     string
	submitted int64
	started   int64 // 0 while it has no nodes
	restarts  uint32
	batch     bool
	requeue   bool
	cpus      int    // on all of them
	exclusive string // "" where squeue has no such column
	alone     bool   // no other job runs on its nodes
	overlaps  bool   // other jobs may have its CPUs, too
	nodes     string
	user      string
	group     string
	partition string
	qos       string
	reserved  string // reservation
	limit     *int64 // seconds; nil: squeue does not say
	features  string // constraints
	account   string
	network   string
	cut       map[string]bool // columns of which squeue shows only the beginning
}

// Columns of a row. Name, comment and work directory are anybody's text and are not asked for; Account (without accounting) and Network are too, and come last.
const (
	colExclusive = "Exclusive"
	colJob       = "JobID"
	colLeader    = "HetJobID"
	colArray     = "ArrayJobID"
	colTask      = "ArrayTaskID"
	colUID       = "UserID"
	colGID       = "GroupID"
	colState     = "State"
	colSubmitted = "SubmitTime"
	colStarted   = "StartTime"
	colRestarts  = "RestartCnt"
	colBatch     = "BatchFlag"
	colRequeue   = "Requeue"
	colCPUs      = "NumCPUs"
	colShared    = "OverSubscribe"
	colNodes     = "NodeList"
	colUser      = "UserName"
	colGroup     = "GroupName"
	colPartition = "Partition"
	colQOS       = "QOS"
	colReserved  = "Reservation"
	colLimit     = "TimeLimit"
	colFeatures  = "Feature"
	colAccount   = "Account"
	colNetwork   = "Network"
)

// exclusive is OverSubscribe of a job by --exclusive or in a partition with OverSubscribe=EXCLUSIVE, which has all CPUs of
// its nodes (_pack_default_job_details in slurmctld/job_mgr.c and job_share_string of 22.05.8 and 25.11). In a partition
// with OverSubscribe=FORCE:1 others may have them, too. Since 26.05 it is OverSubscribe of most jobs, and Exclusive of
// those jobs is NODE or TOPO (job_exclusive_display_string in common/slurm_protocol_defs.c).
const exclusive = "NO"

// overlapping is OverSubscribe of a job by --oversubscribe or in a partition with OverSubscribe=FORCE. How many jobs may
// have a CPU is the partition's.
const overlapping = "YES"

const (
	narrow = 4 << 10   // bytes of a list of nodes
	wide   = 512 << 10 // for those that are longer
)

// about is what is asked of single jobs.
func about(nodes int) table {
	return table{
		{colExclusive, 8}, {colJob, 12}, {colLeader, 12}, {colArray, 12}, {colTask, 24}, {colUID, 12}, {colGID, 12}, {colState, 24}, {colSubmitted, 24}, {colRestarts, 12},
		{colBatch, 4}, {colRequeue, 4}, {colCPUs, 12}, {colShared, 12}, {colNodes, nodes}, {colUser, 257}, {colGroup, 257}, {colPartition, 257}, {colQOS, 257}, {colReserved, 257},
		{colLimit, 24}, {colFeatures, 257}, {colAccount, 257}, {colNetwork, request.MaxBytes + 1},
	}
}

// every is what is asked of all jobs.
var every = table{{colJob, 12}, {colLeader, 12}, {colUID, 12}, {colState, 24}, {colSubmitted, 24}, {colStarted, 24}, {colRestarts, 12}, {colNodes, 256}}

// columns are how a row takes each column.
var columns = map[string]func(r *row, v string) error{
	colExclusive: text(func(r *row) *string { return &r.exclusive }),
	colJob:       func(r *row, v string) error { r.job = v; return checkJob(v) },
	colLeader:    (*row).readLeader,
	colArray:     text(func(r *row) *string { return &r.array }),
	colTask:      text(func(r *row) *string { return &r.task }),
	colUID:       func(r *row, v string) (err error) { r.uid, err = unsigned(v); return err },
	colGID:       func(r *row, v string) (err error) { r.gid, err = unsigned(v); return err },
	colState:     text(func(r *row) *string { return &r.state }),
	colSubmitted: func(r *row, v string) (err error) { r.submitted, err = moment(v); return err },
	colStarted:   (*row).readStarted,
	colRestarts:  func(r *row, v string) (err error) { r.restarts, err = unsigned(v); return err },
	colBatch:     func(r *row, v string) error { r.batch = v == "1"; return nil },
	colRequeue:   func(r *row, v string) error { r.requeue = v == "1"; return nil },
	colCPUs:      func(r *row, v string) (err error) { r.cpus, err = amount(v); return err },
	colShared:    (*row).readShared,
	colNodes:     text(func(r *row) *string { return &r.nodes }),
	colUser:      text(func(r *row) *string { return &r.user }),
	colGroup:     text(func(r *row) *string { return &r.group }),
	colPartition: text(func(r *row) *string { return &r.partition }),
	colQOS:       text(func(r *row) *string { return &r.qos }),
	colReserved:  text(func(r *row) *string { return &r.reserved }),
	colLimit:     func(r *row, v string) error { r.limit = timeLimit(v); return nil },
	colFeatures:  text(func(r *row) *string { return &r.features }),
	colAccount:   text(func(r *row) *string { return &r.account }),
	colNetwork:   text(func(r *row) *string { return &r.network }),
}

func text(to func(*row) *string) func(*row, string) error {
	return func(r *row, v string) error { *to(r) = v; return nil }
}

func (r *row) readLeader(v string) error {
	if r.leader = v; v == "" {
		return nil
	}
	return checkJob(v)
}

// readStarted takes a time alone: of a job that waits squeue shows N/A, or a guess.
func (r *row) readStarted(v string) error {
	if t, err := moment(v); err == nil {
		r.started = t
	}
	return nil
}

// readShared comes after the column Exclusive.
func (r *row) readShared(v string) error {
	r.alone, r.overlaps = r.exclusive == "NODE" || r.exclusive == "TOPO", v == overlapping
	if r.exclusive == "" {
		r.alone = v == exclusive
	}
	return nil
}

// withoutExclusive is what a squeue before 26.05 says of the column Exclusive. It then prints all others and exits with 0
// (_print_com_invalid in squeue/print.c).
const withoutExclusive = "squeue: error: Invalid job format specification: " + colExclusive

// known leaves out the column Exclusive where squeue has left it out: a record begins with the job's id then.
func (t table) known(text []byte) table {
	if t[0].name == colExclusive && len(text) > 0 && '0' <= text[0] && text[0] <= '9' {
		return t[1:]
	}
	return t
}

// rows reads an answer.
func rows(t table, text []byte) ([]row, error) {
	var all []row
	t = t.known(text)
	err := t.parse(text, func(values []string, cut []bool) error {
		all = append(all, row{})
		r := &all[len(all)-1]
		for i, c := range t {
			if cut[i] {
				if r.cut == nil {
					r.cut = map[string]bool{}
				}
				r.cut[c.name] = true
			}
			if columns[c.name](r, values[i]) != nil {
				return core.Errorf(core.SchedulerAway, "job %q: its %s is %q", core.Clip(r.job), c.name, core.Clip(values[i]))
			}
		}
		return nil
	})
	return all, err
}

func unsigned(v string) (uint32, error) {
	n, err := strconv.ParseUint(v, 10, 32)
	return uint32(n), err
}

// amount reads a count. A pending job's may be a range, such as 2-4: its least is enough.
func amount(v string) (int, error) {
	v, _, _ = strings.Cut(v, "-")
	n, err := strconv.ParseUint(v, 10, 31)
	return int(n), err
}

const unlimited = "UNLIMITED"

// timeLimit reads a time limit. squeue shows INVALID for one above a year, and NOT_SET for a job that never had nodes
// (_print_secs and _print_job_time_limit in squeue/print.c of 22.05.8).
func timeLimit(v string) *int64 {
	if v == unlimited {
		return new(core.Unlimited)
	}
	if n, ok := scheduler.Clock(v); ok {
		return &n
	}
	return nil
}

// moment reads Unix seconds, or a time of UTC from a squeue that does not heed SLURM_TIME_FORMAT.
func moment(v string) (int64, error) {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
		return n, nil
	}
	t, err := time.Parse("2006-01-02T15:04:05", v)
	if err == nil && t.Unix() <= 0 {
		err = strconv.ErrRange
	}
	return t.Unix(), err
}

// jobs asks squeue about some jobs: of each its own row, and the components of the het job that it leads.
func (p *Plugin) jobs(ctx context.Context, ids []string) (map[string][]row, error) {
	all, err := p.query(ctx, about(narrow), "-j", strings.Join(ids, ","))
	of := make(map[string][]row, len(ids))
	for _, r := range all {
		of[r.job] = append(of[r.job], r)
		if r.leader != "" && r.leader != r.job {
			of[r.leader] = append(of[r.leader], r)
		}
	}
	return of, err
}

// query runs squeue. --local leaves the jobs of a federation's other clusters out, which are not this adapter's, and with them a question to slurmctld whether
// there is a federation: one of three that a squeue asks (strace of 22.05.8).
func (p *Plugin) query(ctx context.Context, t table, more ...string) ([]row, error) {
	text, err := p.run(ctx, "squeue", append([]string{"-h", "-a", "--local", "-t", "all", "-O", t.format()}, more...)...)
	if f, ok := errors.AsType[*command.Failure](err); ok {
		if strings.Contains(f.Says, "Invalid job id") {
			return nil, nil
		}
		f.Says = strings.TrimSpace(strings.ReplaceAll(f.Says, withoutExclusive, ""))
	}
	if err != nil {
		return nil, command.Away(err)
	}
	all, err := rows(t, text)
	if err != nil {
		return nil, core.Errorf(core.SchedulerAway, "squeue: %w", err)
	}
	return all, nil
}
