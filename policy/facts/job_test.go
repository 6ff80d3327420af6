package facts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/fulltest"
	"github.com/weft-hpc/weft/policy/facts"
)

func u16(n uint16) *uint16 { return &n }

// What is written of a job is read as the same job.
func TestThereAndBack(t *testing.T) {
	for name, job := range map[string]core.Job{
		"one share": {User: "ann", GID: 3, Groups: []string{"a", "b"}, Account: "x", Queue: "q", Placements: []core.Placement{{Hosts: "n[1-4]", Nodes: 4, Cores: 8}}},
		"two": {
			Placements: []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 8}, {Hosts: "n[7-8]", Nodes: 2, Cores: 4}},
			Request:    core.Request{VNIs: 2, JobVNI: true, SingleNode: true, Depth: 3, Collectives: true, Exact: true, Classes: core.LowLatency | core.BulkData, Warnings: []string{"w"}},
		},
		"told": {
			Told:       core.Told{QOS: new(""), Reservation: new("maint"), TimeLimit: new(int64(0)), Constraints: new("a&b")},
			Placements: []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 1}},
		},
		"unlimited": {
			Told: core.Told{TimeLimit: new(core.Unlimited)}, Placements: []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 1}},
		},
		"limits": {Placements: []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 1}}, Request: core.Request{Off: true, Limits: [core.NumResources]core.LimitRequest{core.TXQ: {PerCore: u16(2)}, core.LE: {Reserved: u16(1), Max: u16(9)}}}},
	} {
		job.Job, job.Scheduler, job.UID = "12", "tioga", 500
		text, err := json.Marshal(facts.Of(job))
		if err != nil {
			t.Fatal(err)
		}
		j, err := facts.Read(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.Job("n[1-64]")
		if diff := cmp.Diff(job, got); diff != "" || err != nil {
			t.Errorf("%s: %s: %v (-was +read):\n%s", name, text, err, diff)
		}
	}
}

// A job is the same after it was text, even if all its fields are set at once and no two are alike.
func TestFullJob(t *testing.T) {
	job := fulltest.Value[core.Job]()
	job.Generation, job.Submitted, job.Name, job.Gone = 0, 0, "", false // leftOut says why
	*job.TimeLimit = 3600
	job.Request.Classes = core.LowLatency | core.BulkData
	for i := range job.Placements {
		job.Placements[i].Nodes, job.Placements[i].Cores, job.Placements[i].Total = 1, i+2, 0
	}
	text, err := json.Marshal(facts.Of(job))
	if err != nil {
		t.Fatal(err)
	}
	j, err := facts.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Job("n1")
	if diff := cmp.Diff(job, got); diff != "" || err != nil {
		t.Errorf("%s: %v (-was +read):\n%s", text, err, diff)
	}
}

func TestNumberOfNodes(t *testing.T) {
	for text, want := range map[string][]core.Placement{
		`{}`:                       {{Hosts: "n1", Nodes: 1, Cores: 1}},
		`{"nodes": 3, "cores": 2}`: {{Hosts: "n[1-3]", Nodes: 3, Cores: 2}},
		`{"nodes": "4"}`:           {{Hosts: "n[1-4]", Nodes: 4, Cores: 1}},
		`{"nodes": "n[3,7]"}`:      {{Hosts: "n[3,7]", Nodes: 2, Cores: 1}},
		`{"shares": [{"nodes": 2, "cores": 8}, {"nodes": 1, "cores": 4}]}`: {{Hosts: "n[1-2]", Nodes: 2, Cores: 8}, {Hosts: "n3", Nodes: 1, Cores: 4}},
	} {
		j, err := facts.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.Job("n[1-8]")
		if diff := cmp.Diff(want, got.Placements); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"usr": "ann"}`:  `unknown field "usr"`,
		`{"nodes": 9}`:    "9 nodes are asked for, and config.hcl declares 8",
		`{"nodes": 0}`:    "0 nodes",
		`{"nodes": "n["}`: "n[",
		`{"nodes": true}`: "a number or a hostlist",
		`{"nodes": 1, "shares": [{"nodes": 1, "cores": 1}]}`: "shares, and nodes or cores too",
		`{"cores": -1}`:                                                    "-1 cores",
		`{"nodes": "n[1-999999]"}`:                                         "999999 nodes",
		`{"shares": [{"nodes": "n1", "cores": -1}]}`:                       "-1 cores there",
		`{"request": {"traffic_classes": ["FAST"]}}`:                       "FAST",
		`{"request": {"limits": {"qs": {"max": 1}}}}`:                      "qs",
		`{"request": {"limits": {"txqs": {"max": 1}, "TXQ": {"max": 2}}}}`: "twice",
		`{} {}`: "more after it",
		`{"shares": [{"nodes": 5, "cores": 1}, {"nodes": 4, "cores": 1}]}`: "9 nodes",
	} {
		j, err := facts.Read(strings.NewReader(text))
		if err == nil {
			_, err = j.Job("n[1-8]")
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %q", text, err, want)
		}
		if wrong, ok := errors.AsType[*core.Error](err); ok && strings.Contains(wrong.Remedy, "VERB") {
			t.Errorf("%s: what mends it is %q", text, wrong.Remedy)
		}
	}
}

// Whatever a text says, it is read or refused.
func FuzzRead(f *testing.F) {
	f.Add(`{"user": "ann", "nodes": 3, "request": {"limits": {"txqs": {"max": 1}}}}`)
	f.Add(`{"shares": [{"nodes": "n[1-2]", "cores": 8}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		j, err := facts.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		if job, err := j.Job("n[1-8]"); err == nil && job.Nodes() < 1 {
			t.Fatalf("%+v", job)
		}
	})
}

// What fits its bound exactly is taken, and one more is not.
func TestBounds(t *testing.T) {
	for name, bound := range map[string]struct {
		most int
		text func(n int) string
	}{
		"bytes of a text":  {facts.MaxSize, func(n int) string { return "{}" + strings.Repeat(" ", n-2) }},
		"nodes of one job": {facts.MaxNodes, func(n int) string { return fmt.Sprintf(`{"nodes": "n[1-%d]"}`, n) }},
	} {
		for more := range 2 {
			j, err := facts.Read(strings.NewReader(bound.text(bound.most + more)))
			if err == nil {
				_, err = j.Job("n[1-8]")
			}
			if (err != nil) != (more > 0) {
				t.Errorf("%s: %d: %v", name, bound.most+more, err)
			}
		}
	}
}

// Options that cannot be read change nothing.
func TestOptionsThatCannotBeRead(t *testing.T) {
	j := facts.Job{Request: facts.Request{VNIs: 2}}
	no := func([]string) (core.Request, error) { return core.Request{VNIs: 3}, core.Errorf(core.BadCall, "no") }
	if err := j.Options([]string{"vnis=x"}, no); err == nil || j.Request.VNIs != 2 {
		t.Errorf("%v, %+v", err, j.Request)
	}
}
