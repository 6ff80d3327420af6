package flux

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
)

func TestDescribe(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, map[string]any{
		"duration": 3600.0, "constraints": map[string]any{"properties": []string{"gpu"}},
		"queue": "batch", "bank": "physics", "job": map[string]any{"name": "mpi\thello"}, "environment": map[string]string{"TOKEN": "x"},
		"shell": map[string]any{"options": map[string]any{"cray-slingshot": map[string]int{"vnicount": 2}}},
	})
	want := core.Job{
		Run: core.Run{Key: key(oneF58), Fingerprint: core.Fingerprint{UID: 1000, Submitted: brokertest.First}},
		GID: 100, User: "alice", Groups: []string{"ops", "users"}, Account: "physics", Queue: "batch", Name: "mpi?hello",
		Told:       core.Told{TimeLimit: new(int64(3600)), Constraints: new(`{"properties":["gpu"]}`)},
		Placements: []core.Placement{{Hosts: "node01", Nodes: 1, Cores: 4, Total: 4}, {Hosts: "node02", Nodes: 1, Cores: 2, Total: 4}},
		Request:    core.Request{VNIs: 2},
	}
	for range 2 { // the second over the connection of the first
		got, err := p.Describe(t.Context(), key(oneF58), nil, root)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWhatFluxTells: no expiration is no limit, and no constraint is none; what policy cannot read is unknown.
func TestWhatFluxTells(t *testing.T) {
	for name, c := range map[string]struct {
		attributes map[string]any
		want       core.Told
	}{
		"nothing": {nil, core.Told{TimeLimit: new(core.Unlimited), Constraints: new("")}},
		"less than a second": {
			map[string]any{"duration": 0.25}, core.Told{TimeLimit: new(int64(0)), Constraints: new("")},
		},
		"much": {
			map[string]any{"duration": 1e17, "constraints": map[string]any{"properties": []string{strings.Repeat("g", 300)}}},
			core.Told{},
		},
	} {
		p, b := adapter(t)
		submitted(b, one, c.attributes)
		got, err := p.Describe(t.Context(), key(oneF58), nil, root)
		if diff := cmp.Diff(c.want, got.Told); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// Nobody can say which groups such a user has, and policy may deny by them.
func TestAUserWhomThisHostDoesNotKnow(t *testing.T) {
	p, b := adapter(t)
	b.Submit(2, 4242, nil)
	b.Alloc(2, []any{brokertest.Lite("0", "0")}, "node01")
	_, err := p.Describe(t.Context(), key("ƒ3"), nil, root)
	checkError(t, err, core.SchedulerAway, `user "4242"`)
}

func TestAJobThatGetsNothingNew(t *testing.T) {
	for name, end := range map[string]func(b *brokertest.Broker){
		"it is over":           func(b *brokertest.Broker) { b.End(one) },
		"it has finished":      func(b *brokertest.Broker) { b.Post(one, "finish", map[string]int{"status": 0}) },
		"an exception ends it": func(b *brokertest.Broker) { b.Post(one, "exception", map[string]any{"type": "cancel", "severity": 0}) },
		"its prolog failed, as recording 06": func(b *brokertest.Broker) {
			b.Post(one, "exception", map[string]any{"type": "prolog", "severity": 0})
			b.Post(one, "free", nil)
			b.Post(one, "clean", nil)
		},
		"its prolog failed after an epilog's": func(b *brokertest.Broker) {
			b.Post(one, "epilog-start", nil)
			b.Post(one, "exception", map[string]any{"type": "prolog", "severity": 0})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, b := adapter(t)
			submitted(b, one, nil)
			b.Post(one, "exception", map[string]any{"type": "epilog", "severity": 2}) // ends nothing
			if got, err := p.Describe(t.Context(), key(oneF58), nil, root); err != nil || got.Gone {
				t.Fatalf("before: %+v, %v", got, err)
			}
			end(b)
			if got, err := p.Describe(t.Context(), key(oneF58), nil, root); err != nil || !got.Gone {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestDescribeRefuses(t *testing.T) {
	p, b := adapter(t)
	b.Submit(2, 1000, nil) // without resources
	b.Submit(3, 1000, map[string]any{"queue": "a\x1b[31m"})
	b.Alloc(3, []any{brokertest.Lite("0", "0")}, "node01")
	b.Submit(4, 1000, map[string]any{"shell": map[string]any{"options": map[string]any{"slingshot": map[string]any{"colour": "blue"}}}})
	b.Alloc(4, []any{brokertest.Lite("0", "0")}, "node01")
	b.Submit(5, 1000, nil)
	b.Alloc(5, []any{brokertest.Lite("0", "0")}, "node[01-02]")
	for job, want := range map[string]core.Reason{"ƒ2": core.JobUnknown, "ƒ3": core.JobUnknown, "ƒ4": core.BadRequest, "ƒ5": core.BadRequest, "ƒ6": core.SchedulerAway, "7_1": core.BadCall} {
		_, err := p.Describe(t.Context(), key(job), nil, root)
		checkError(t, err, want, "")
	}
	_, err := p.Describe(t.Context(), key("ƒ2"), nil, core.Peer{UID: 1000})
	checkError(t, err, core.NotAllowed, "uid 1000")
}

// TestABrokerThatDoesNotAnswer costs the caller's own time; what nobody can tell is no refusal of the job.
func TestABrokerThatDoesNotAnswer(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	hold := make(chan struct{})
	b.Before(func(topic string) {
		if topic == "job-info.lookup" {
			<-hold
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.bare.Describe(ctx, key(oneF58), nil, root) // rpc's client would give up first
	checkError(t, err, core.SchedulerAway, "job tioga/"+oneF58)
	close(hold)
	b.Before(nil)
	if _, err := p.Describe(t.Context(), key(oneF58), nil, root); err != nil {
		t.Errorf("when it answers again: %v", err)
	}
	b.Stop()
	_, err = p.Describe(t.Context(), key(oneF58), nil, root)
	checkError(t, err, core.SchedulerAway, "uri")
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	b.Starting(true)
	_, err = p.Describe(t.Context(), key(oneF58), nil, root)
	checkError(t, err, core.SchedulerAway, "has started")
	b.Starting(false)
	if got, err := p.Describe(t.Context(), key(oneF58), nil, root); err != nil || got.Gone {
		t.Errorf("by a broker that was restarted: %+v, %v", got, err)
	}
}

// TestTheInstancesOwner: root is a guest of a broker whose owner is another, and connects as the owner where the block says so.
func TestTheInstancesOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can connect as another user")
	}
	const flux = 64321
	b, err := brokertest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Crash)
	b.OwnedBy(flux)
	p := New("tioga")
	t.Cleanup(p.link.close)
	p.settings.uri = b.URI()
	hosts := alice
	hosts.Users = map[uint32]string{1000: "alice", flux: "flux"}
	p.people = people.New(hosts.Run)
	// The socket lies in a folder that only this test's user can enter: its permissions are no part of what is tested.
	open(t, b.URI())
	submitted(b, one, nil)
	_, err = p.Describe(t.Context(), key(oneF58), nil, root)
	checkError(t, err, core.SchedulerAway, "`user`")
	p.link.close()
	p.settings.user = "flux"
	for range 3 {
		if _, err := p.Describe(t.Context(), key(oneF58), nil, root); err != nil {
			t.Error(err)
		}
		p.link.close()
	}
	if os.Geteuid() != 0 || syscall.Geteuid() != 0 {
		t.Error("the process is another user now")
	}
	p.settings.user = "nobody-at-all"
	_, err = p.Describe(t.Context(), key(oneF58), nil, root)
	checkError(t, err, core.SchedulerAway, "nobody-at-all")
	if !errors.Is(err, people.ErrUnknown) {
		t.Errorf("%v", err)
	}
}
