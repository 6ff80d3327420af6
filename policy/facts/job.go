// Package facts is a job as people write it down for policy: in JSON for `weft policy explain`, in HCL for `weft policy test`.
package facts

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// MaxSize bounds a job's text, in bytes.
const MaxSize = 1 << 20

// Job is what policy knows of a job. Names are those of policy's variables.
type Job struct {
	ID        string   `json:"id,omitempty"`
	Scheduler string   `json:"scheduler,omitempty"` // its name in config.hcl
	User      string   `json:"user,omitempty"`
	UID       uint32   `json:"uid,omitempty"`
	GID       uint32   `json:"gid,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	Account   string   `json:"account,omitempty"`
	Queue     string   `json:"queue,omitempty"`
	Nodes     Nodes    `json:"nodes,omitempty"`  // how many, or which: a hostlist
	Cores     int      `json:"cores,omitempty"`  // on each of Nodes
	Shares    []Share  `json:"shares,omitempty"` // in place of Nodes and Cores, where nodes differ
	Request   Request  `json:"request,omitzero"`

	// Some schedulers tell these. nil: unknown, and a rule that needs it refuses the job.
	QOS         *string  `json:"qos,omitempty"`
	Reservation *string  `json:"reservation,omitempty"`
	TimeLimit   *Seconds `json:"time_limit,omitempty"`
	Constraints *string  `json:"constraints,omitempty"`

	Now time.Time `json:"now,omitzero"` // when it is decided
}

// At is j, decided at that moment.
func (j Job) At(moment int64) Job {
	if moment != 0 {
		j.Now = time.Unix(moment, 0).UTC()
	}
	return j
}

// Moment is Now as a decision takes it: Unix seconds, 0 where it is not given.
func (j *Job) Moment() int64 {
	if j.Now.IsZero() {
		return 0
	}
	return j.Now.Unix()
}

// Share is the nodes of a job on which it has equally many cores.
type Share struct {
	Nodes Nodes `json:"nodes"`
	Cores int   `json:"cores"`
}

// Nodes is a number of nodes, or a hostlist.
type Nodes string

// UnmarshalJSON takes a number without quotes too.
func (n *Nodes) UnmarshalJSON(text []byte) error {
	var number json.Number
	var name string
	if err := json.Unmarshal(text, &name); err == nil {
		*n = Nodes(name)
		return nil
	}
	if err := json.Unmarshal(text, &number); err != nil {
		return errors.New("nodes: it must be a number or a hostlist in quotes")
	}
	*n = Nodes(number)
	return nil
}

// Request is what the job's user asked for. Nothing in it: what everybody gets.
type Request struct {
	Off            bool           `json:"off,omitempty"`
	VNIs           int            `json:"vnis,omitempty"`
	JobVNI         bool           `json:"job_vni,omitempty"`
	SingleNode     bool           `json:"single_node_vni,omitempty"`
	TrafficClasses []string       `json:"traffic_classes,omitempty"`
	Depth          int            `json:"depth,omitempty"`
	Collectives    bool           `json:"collectives,omitempty"`
	Exact          bool           `json:"no_adjust_limits,omitempty"`
	Limits         map[string]Ask `json:"limits,omitempty"` // by resource
	Warnings       []string       `json:"warnings,omitempty"`
}

// Ask is what was asked of one resource: res_, max_ and def_ in Slurm's words.
type Ask struct {
	PerCore  *uint16 `json:"per_core,omitempty"`
	Reserved *uint16 `json:"reserved,omitempty"`
	Max      *uint16 `json:"max,omitempty"`
}

// Read reads a job in JSON. What it does not know is an error: a name that is misspelled would decide otherwise in silence.
func Read(r io.Reader) (Job, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return Job{}, core.Errorf(core.BadCall, "job: it cannot be read: %w", err).WithRemedy("give a file that can be read, or - for standard input")
	}
	if len(text) > MaxSize {
		return Job{}, core.Errorf(core.BadCall, "job: its text has more than %d bytes", MaxSize).WithRemedy("give one job")
	}
	var j Job
	if err := j.Merge(text); err != nil {
		return Job{}, core.Errorf(core.BadCall, "job: %w", err).WithRemedy("write it as `weft policy explain -o json` shows it below \"job\"")
	}
	return j, nil
}

// Merge puts what a JSON text names in place of what j has.
func (j *Job) Merge(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(j); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after it")
	}
	return nil
}

// Of writes down a job as a scheduler described it.
func Of(job core.Job) Job {
	j := Job{
		ID: job.Job, Scheduler: job.Scheduler, User: job.User, UID: job.UID, GID: job.GID, Groups: job.Groups, Account: job.Account, Queue: job.Queue,
		Request: Request{
			Off: job.Request.Off, VNIs: job.Request.VNIs, JobVNI: job.Request.JobVNI, SingleNode: job.Request.SingleNode, Depth: job.Request.Depth,
			Collectives: job.Request.Collectives, Exact: job.Request.Exact, Warnings: job.Request.Warnings,
		},
		QOS: job.QOS, Reservation: job.Reservation, TimeLimit: (*Seconds)(job.TimeLimit), Constraints: job.Constraints,
	}
	if job.Request.Classes != 0 {
		j.Request.TrafficClasses = job.Request.Classes.Names()
	}
	for r, l := range job.Request.Limits {
		if l != (core.LimitRequest{}) {
			if j.Request.Limits == nil {
				j.Request.Limits = map[string]Ask{}
			}
			j.Request.Limits[core.Resource(r).String()] = Ask{l.PerCore, l.Reserved, l.Max}
		}
	}
	if len(job.Placements) == 1 {
		j.Nodes, j.Cores = Nodes(job.Placements[0].Hosts), job.Placements[0].Cores
		return j
	}
	for _, s := range job.Placements {
		j.Shares = append(j.Shares, Share{Nodes(s.Hosts), s.Cores})
	}
	return j
}

// Job is what policy decides on. Where only a number of nodes is known, they are the first of system, a hostlist of all nodes that there are.
func (j Job) Job(system string) (core.Job, error) {
	out := core.Job{User: j.User, GID: j.GID, Groups: j.Groups, Account: j.Account, Queue: j.Queue}
	out.Job, out.Scheduler, out.UID = j.ID, j.Scheduler, j.UID
	out.Told = core.Told{QOS: j.QOS, Reservation: j.Reservation, TimeLimit: (*int64)(j.TimeLimit), Constraints: j.Constraints}
	r := j.Request
	out.Request = core.Request{
		Off: r.Off, VNIs: r.VNIs, JobVNI: r.JobVNI, SingleNode: r.SingleNode, Depth: r.Depth, Collectives: r.Collectives,
		Exact: r.Exact, Warnings: r.Warnings,
	}
	for _, name := range r.TrafficClasses {
		c, err := core.ParseClass(name)
		if err != nil {
			return out, err
		}
		out.Request.Classes |= c
	}
	for name, ask := range r.Limits {
		resource, err := core.ParseResource(name)
		if err != nil {
			return out, err
		}
		if out.Request.Limits[resource] != (core.LimitRequest{}) {
			return out, core.Errorf(core.BadCall, "job: request: limits: %s is given twice", resource).WithRemedy("name it once")
		}
		out.Request.Limits[resource] = core.LimitRequest{PerCore: ask.PerCore, Reserved: ask.Reserved, Max: ask.Max}
	}
	shares := j.Shares
	switch {
	case len(shares) > 0 && (j.Nodes != "" || j.Cores != 0):
		return out, core.Errorf(core.BadCall, "job: it has shares, and nodes or cores too").WithRemedy("give nodes and cores, or shares with nodes and cores each")
	case len(shares) == 0:
		shares = []Share{{j.Nodes, max(1, j.Cores)}}
		if j.Nodes == "" {
			shares[0].Nodes = "1"
		}
		if j.Cores < 0 {
			return out, core.Errorf(core.BadCall, "job: it has %d cores", j.Cores).WithRemedy("give how many each of its nodes has")
		}
	}
	taken := 0
	for _, s := range shares {
		one, n, err := s.share(system, taken)
		if err != nil {
			return out, err
		}
		taken += n
		out.Placements = append(out.Placements, one)
	}
	return out, nil
}

// share is s as policy knows it, and how many of the system's nodes it took.
func (s Share) share(system string, taken int) (core.Placement, int, error) {
	if s.Cores < 0 {
		return core.Placement{}, 0, core.Errorf(core.BadCall, "job: nodes %s: it has %d cores there", core.Clip(string(s.Nodes)), s.Cores).WithRemedy("give how many each of these nodes has")
	}
	hosts, counted := string(s.Nodes), 0
	if n, err := strconv.Atoi(hosts); err == nil {
		if hosts, err = first(system, taken, n); err != nil {
			return core.Placement{}, 0, err
		}
		counted = n
	}
	list, err := hostlist.Parse(hosts)
	if err != nil {
		return core.Placement{}, 0, err
	}
	if list.Count() == 0 || list.Count() > MaxNodes {
		return core.Placement{}, 0, core.Errorf(core.BadCall, "job: it has %d nodes, and can have 1 to %d", list.Count(), MaxNodes).WithRemedy("name as many")
	}
	return core.Placement{Hosts: hosts, Nodes: int(list.Count()), Cores: s.Cores}, counted, nil
}

// MaxNodes bounds the nodes of a job.
const MaxNodes = 1 << 18

// first are n of the system's nodes, after those that are taken.
func first(system string, taken, n int) (string, error) {
	list, err := hostlist.Parse(system)
	if err != nil {
		return "", err
	}
	if n < 1 || uint64(taken)+uint64(n) > list.Count() {
		return "", core.Errorf(core.BadCall, "job: %d nodes are asked for, and config.hcl declares %d", taken+n, list.Count()).WithRemedy("give 1 to that many")
	}
	var names []string
	for name := range list.Expand() {
		if len(names) == taken+n {
			break
		}
		names = append(names, name)
	}
	return hostlist.Fold(names[taken:]), nil
}

// Options puts what option texts ask for into the request; parse is the scheduler's.
func (j *Job) Options(options []string, parse func([]string) (core.Request, error)) error {
	if !slices.ContainsFunc(options, func(s string) bool { return strings.TrimSpace(s) != "" }) {
		return nil
	}
	r, err := parse(options)
	if err == nil {
		j.Request = Of(core.Job{Request: r}).Request
	}
	return err
}
