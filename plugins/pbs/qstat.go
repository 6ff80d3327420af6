package pbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
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

// errQuoted is an answer that is no JSON as qstat writes it.
var errQuoted = errors.New("it is not the JSON that qstat -F json gives")

// readJobs reads what `qstat -f -F json` says: {"timestamp": …, "Jobs": {"42.pbs1": {"job_state": "R", …}, …}}, without Jobs where there is none. A job of
// which one attribute cannot be read spoils the answer: it must neither be missed nor taken for another. What its user wrote freely spoils nothing but the
// job: qstat shows a value that reads as JSON as such (OpenPBS 23.06), so that `qsub -A null` or `-A '[1]'` is anybody's to write.
func readJobs(text []byte) ([]row, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	var all []row
	seen := map[string]bool{}
	err := object(d, func(key string) error {
		if key != "Jobs" {
			return pass(d)
		}
		if all != nil {
			return errors.New("it has Jobs twice")
		}
		all = []row{}
		return object(d, func(id string) error {
			if seen[id] {
				return errors.New("job " + strconv.Quote(core.Clip(id)) + ": it is there twice")
			}
			if len(all) == maxJobs {
				return errors.New("there are more than " + strconv.Itoa(maxJobs) + " jobs")
			}
			seen[id] = true
			r, err := readJob(d, id)
			if err == nil && !isArray(id) {
				all = append(all, r)
			}
			return err
		})
	})
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errQuoted
		}
	}
	return all, err
}

// object reads an object and calls member at each value.
func object(d *json.Decoder, member func(key string) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errQuoted
	}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return errQuoted
		}
		if err := member(key); err != nil {
			return err
		}
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return errQuoted
	}
	return nil
}

// pass passes over a value.
func pass(d *json.Decoder) error {
	var ignored json.RawMessage
	if d.Decode(&ignored) != nil {
		return errQuoted
	}
	return nil
}

func readJob(d *json.Decoder, id string) (row, error) {
	r := row{id: id}
	if !isArray(id) {
		if err := checkJob(id); err != nil {
			return r, err
		}
	}
	seen := map[string]bool{}
	err := object(d, func(name string) error {
		read := attributes[name]
		if read == nil {
			return pass(d)
		}
		if seen[name] {
			return errors.New("job " + id + ": its " + name + " is there twice")
		}
		seen[name] = true
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return errQuoted
		}
		if err := read(&r, raw); err != nil && !isArray(id) {
			return errors.New("job " + id + ": its " + name + " is " + strconv.Quote(core.Clip(string(raw))))
		}
		return nil
	})
	if err == nil && !isArray(id) && (r.state == "" || r.submitted == 0) {
		err = errors.New("job " + id + ": it has no job_state or no ctime")
	}
	return r, err
}

var errValue = errors.New("it cannot be read")

// attrAccount is the attribute that a user writes freely, besides the resources.
const attrAccount = "Account_Name"

// attributes are read of a job. Whatever else qstat shows of it is passed over: most of that is its user's text.
var attributes = map[string]func(r *row, raw json.RawMessage) error{
	"job_state":     word(1, func(r *row) *string { return &r.state }),
	"substate":      func(r *row, raw json.RawMessage) error { return json.Unmarshal(raw, &r.substate) },
	"euser":         word(maxWord, func(r *row) *string { return &r.user }),
	"egroup":        word(maxWord, func(r *row) *string { return &r.group }),
	"queue":         word(maxWord, func(r *row) *string { return &r.queue }),
	attrAccount:     (*row).readAccount,
	"ctime":         moment(func(r *row) *int64 { return &r.submitted }),
	"stime":         moment(func(r *row) *int64 { return &r.started }),
	"run_count":     (*row).readRuns,
	"exec_host":     word(maxHosts, func(r *row) *string { return &r.hosts }),
	"Rerunable":     (*row).readRerunable,
	"reserve_ID":    word(maxWord, func(r *row) *string { return &r.reserved }),
	"Resource_List": (*row).readResources,
}

// word reads a text of at most so many bytes.
func word(most int, to func(*row) *string) func(*row, json.RawMessage) error {
	return func(r *row, raw json.RawMessage) error {
		s, ok := scalar(raw)
		if !ok || len(s) > most {
			return errValue
		}
		*to(r) = s
		return nil
	}
}

func moment(to func(*row) *int64) func(*row, json.RawMessage) error {
	return func(r *row, raw json.RawMessage) error {
		s, _ := scalar(raw)
		t, err := time.Parse(time.ANSIC, s)
		if err != nil || t.Unix() <= 0 {
			return errValue
		}
		*to(r) = t.Unix()
		return nil
	}
}

func (r *row) readAccount(raw json.RawMessage) error {
	if word(maxWord, func(r *row) *string { return &r.account })(r, raw) != nil {
		r.odd = attrAccount
	}
	return nil
}

func (r *row) readRerunable(raw json.RawMessage) error {
	s, ok := scalar(raw)
	r.rerunable = s == "True"
	if !ok {
		return errValue
	}
	return nil
}

// readRuns takes a count that is too high for any run of Weft's as the highest: a job's owner can raise it by qalter, to what a long holds.
func (r *row) readRuns(raw json.RawMessage) error {
	var n float64 // qstat writes a long one as 1e+15
	if json.Unmarshal(raw, &n) != nil || n < 0 || n != math.Trunc(n) {
		return errValue
	}
	r.runs = uint32(min(n, math.MaxUint32))
	return nil
}

// readResources keeps what the job asks of Weft.
func (r *row) readResources(raw json.RawMessage) error {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return errValue
	}
	r.place, _ = scalar(all["place"])
	r.walltime, _ = scalar(all["walltime"])
	for name, v := range all {
		key, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		s, ok := scalar(v)
		if !ok || len(s) > maxWord {
			r.odd = prefix + core.Clip(key)
			continue
		}
		if r.wanted == nil {
			r.wanted = map[string]string{}
		}
		r.wanted[key] = s
	}
	return nil
}

// scalar is a value's text. qstat writes whatever reads as a number, true or false without quotes, so that a queue named 7 comes as a number.
func scalar(raw json.RawMessage) (string, bool) {
	switch {
	case len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return "", false
	case raw[0] != '"':
		return string(raw), true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
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
	text, err := p.run(ctx, "qstat", "-t", "-f", "-F", "json")
	if err != nil {
		return nil, command.Away(err)
	}
	return parsed(text)
}

// job asks qstat for one, also for one that is over where PBS keeps a history; nil: PBS does not know it.
func (p *Plugin) job(ctx context.Context, id string) (*row, error) {
	if err := checkJob(id); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "qstat", "-x", "-f", "-F", "json", id)
	if over(err) {
		return nil, nil
	}
	if err != nil {
		return nil, command.Away(err)
	}
	all, err := parsed(text)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].id == id {
			return &all[i], nil
		}
	}
	return nil, nil
}

func parsed(text []byte) ([]row, error) {
	all, err := readJobs(text)
	if err != nil {
		return nil, core.Errorf(core.SchedulerAway, "qstat: %w", err).WithRemedy("see what `qstat -f -F json` says, as root on this host; OpenPBS 20 and newer have it")
	}
	return all, nil
}
