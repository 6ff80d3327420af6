package pbs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// row is one job as qstat shows it; an array's task is one of its own.
type row struct {
	id        string
	state     string
	substate  int
	user      string
	group     string
	queue     string
	account   string
	reserved  string // the reservation that it runs in
	walltime  string // of Resource_List; "": none
	submitted int64
	started   int64 // 0 until MOM has said that this run runs
	runs      uint32
	hosts     string // exec_host
	vnodes    string // exec_vnode
	rerunable bool
	place     string            // of Resource_List
	wanted    map[string]string // of Resource_List, by what stands behind the prefix
	odd       string            // what its user wrote and cannot be read; "" where all can
}

// prerun is the substate of a job that is being sent to MOM; stime is then that of the run before.
const prerun = 41

// Bounds of an answer.
const (
	maxJobs  = 1 << 20
	maxWord  = 1024    // bytes of one attribute that is read, but for a list of hosts
	maxHosts = 4 << 20 // bytes of exec_host
)

// readJobs reads an answer of `qstat -f -F dsv -D DELIMITER`. An attribute that pbs_server writes and that cannot be read
// spoils the answer: its job must neither be missed nor taken for another. Whatever a user writes freely spoils nothing
// but the job.
func readJobs(text []byte, delimiter string) ([]row, error) {
	all := []row{}
	seen := map[string]bool{}
	err := records(string(text), delimiter, func(id string, attributes []attribute) error {
		if seen[id] {
			return errTwice
		}
		seen[id] = true
		if len(seen) > maxJobs {
			return errors.New("there are more than " + strconv.Itoa(maxJobs) + " jobs")
		}
		if isArray(id) {
			return nil
		}
		r, err := readJob(id, attributes)
		all = append(all, r)
		return err
	})
	return all, err
}

func readJob(id string, all []attribute) (row, error) {
	r := row{id: id}
	if err := checkJob(id); err != nil {
		return r, err
	}
	seen := map[string]bool{}
	for _, a := range all {
		read := attributes[a.name]
		resource, listed := strings.CutPrefix(a.name, "Resource_List.")
		if read == nil && !listed {
			continue
		}
		if seen[a.name] {
			return r, fmt.Errorf("its %s: %w", a.name, errTwice)
		}
		seen[a.name] = true
		switch {
		case listed:
			r.readResource(resource, a.value)
		case !read(&r, a.value):
			return r, errors.New("its " + a.name + " is " + strconv.Quote(core.Clip(a.value)))
		}
	}
	if r.state == "" || r.submitted == 0 {
		return r, errors.New("it has no job_state or no ctime")
	}
	return r, nil
}

// attrAccount is the attribute that a user writes freely, besides the resources.
const attrAccount = "Account_Name"

// attributes are read of a job, beside Resource_List. Whatever else qstat shows is passed over: most of it is its user's
// text.
var attributes = map[string]func(r *row, value string) bool{
	"job_state":  word(1, func(r *row) *string { return &r.state }),
	"substate":   func(r *row, v string) (ok bool) { r.substate, ok = whole(v); return ok },
	"euser":      word(maxWord, func(r *row) *string { return &r.user }),
	"egroup":     word(maxWord, func(r *row) *string { return &r.group }),
	"queue":      word(maxWord, func(r *row) *string { return &r.queue }),
	attrAccount:  (*row).readAccount,
	"ctime":      moment(func(r *row) *int64 { return &r.submitted }),
	"stime":      moment(func(r *row) *int64 { return &r.started }),
	"run_count":  (*row).readRuns,
	"exec_host":  word(maxHosts, func(r *row) *string { return &r.hosts }),
	"exec_vnode": func(r *row, v string) bool { r.vnodes = v; return true },
	"Rerunable":  func(r *row, v string) bool { r.rerunable = v == "True"; return true },
	"reserve_ID": word(maxWord, func(r *row) *string { return &r.reserved }),
}

// word reads a text of at most so many bytes.
func word(most int, to func(*row) *string) func(*row, string) bool {
	return func(r *row, value string) bool {
		s, ok := plain(value)
		*to(r) = s
		return ok && len(s) <= most
	}
}

func whole(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func moment(to func(*row) *int64) func(*row, string) bool {
	return func(r *row, value string) bool {
		t, err := time.Parse(time.ANSIC, value)
		*to(r) = t.Unix()
		return err == nil && t.Unix() > 0
	}
}

func (r *row) readAccount(value string) bool {
	if !word(maxWord, func(r *row) *string { return &r.account })(r, value) {
		r.account, r.odd = "", attrAccount
	}
	return true
}

// readRuns takes a count that no run of Weft's has as the highest: a job's owner can set it by qalter, to what a long
// holds.
func (r *row) readRuns(value string) bool {
	n, ok := whole(value)
	if n < 0 || n > math.MaxUint32 {
		n = math.MaxUint32
	}
	r.runs = uint32(n)
	return ok
}

// readResource keeps what the job asks of Weft.
func (r *row) readResource(name, value string) {
	key, ours := strings.CutPrefix(name, prefix)
	s, ok := plain(value)
	switch {
	case name == "place":
		r.place = s
	case name == "walltime":
		r.walltime = s
	case !ours:
	case !ok || len(s) > maxWord:
		r.odd = prefix + core.Clip(key)
	default:
		if r.wanted == nil {
			r.wanted = map[string]string{}
		}
		r.wanted[key] = s
	}
}

// Exit codes of PBS's commands: the error's number, modulo 256 (pbs_error.h).
const (
	exitUnknownJob = 15001 % 256
	exitBadState   = 15016 % 256
	exitHistory    = 15139 % 256 // PBSE_HISTJOBID: the job has finished
)

// over reports whether a command failed because its job is not there any more, or not in that state: what was wanted is so already.
func over(err error) bool {
	f, ok := errors.AsType[*command.Failure](err)
	return ok && (f.Code == exitUnknownJob || f.Code == exitHistory || f.Code == exitBadState)
}

// jobs asks qstat for all jobs, tasks of arrays among them.
func (p *Plugin) jobs(ctx context.Context) ([]row, error) {
	all, err := p.ask(ctx, []string{"-t"})
	return all, command.Away(err)
}

// job asks qstat for one, also for one that is over where PBS keeps a history; nil: PBS does not know it.
func (p *Plugin) job(ctx context.Context, id string) (*row, error) {
	if err := checkJob(id); err != nil {
		return nil, err
	}
	r, err := p.questions.About(ctx, id, p.settings.patient)
	if late := ctx.Err(); err != nil && late != nil {
		err = core.Errorf(core.SchedulerAway, "job %s: pbs_server did not answer qstat in time: %w", id, late)
	}
	return r, err
}

// some asks qstat for some jobs in one question. It fails as a whole where PBS does not know one of them, or where one
// has finished: each is then asked for by itself.
func (p *Plugin) some(ctx context.Context, ids []string) (map[string]*row, error) {
	all, err := p.ask(ctx, nil, ids...)
	if over(err) {
		all, err = p.each(ctx, ids)
	}
	of := make(map[string]*row, len(all))
	for i := range all {
		of[all[i].id] = &all[i]
	}
	return of, command.Away(err)
}

// each asks for jobs one by one, for those that have finished in the history. Without a history `qstat -x` lists no job
// at all and exits 0 (OpenPBS 23.06.06).
func (p *Plugin) each(ctx context.Context, ids []string) (all []row, err error) {
	for _, id := range ids {
		one, err := p.ask(ctx, nil, id)
		if f, ok := errors.AsType[*command.Failure](err); ok && f.Code == exitHistory {
			one, err = p.ask(ctx, []string{"-x"}, id)
		}
		if err != nil && !over(err) {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// ask runs qstat with flags, for jobs or for all.
func (p *Plugin) ask(ctx context.Context, flags []string, ids ...string) ([]row, error) {
	end := delimiter()
	text, err := p.run(ctx, "qstat", slices.Concat(flags, []string{"-f", "-F", "dsv", "-D", end}, ids)...)
	if err != nil {
		return nil, err
	}
	all, err := readJobs(text, end)
	if err != nil {
		return nil, core.Errorf(core.SchedulerAway, "qstat: %w", err).
			WithRemedy("see what `qstat -f -F dsv` says, as root on this host; OpenPBS 20 and newer have it")
	}
	return all, nil
}
