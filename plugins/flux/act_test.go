package flux

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func last(events []string) string { return events[len(events)-1] }

func TestFail(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	if err := p.Fail(t.Context(), key(oneF58), "dedicated access is for operations\n(rule 3)"); err != nil {
		t.Fatal(err)
	}
	if got := last(b.Events(one)); !strings.Contains(got, `"type":"weft"`) || !strings.Contains(got, `"severity":0`) || !strings.Contains(got, `"note":"dedicated access is for operations (rule 3)"`) {
		t.Error(got)
	}
	b.End(one)
	for _, job := range []string{oneF58, "ƒzz"} { // over, and never heard of
		if err := p.Fail(t.Context(), key(job), "x"); err != nil {
			t.Errorf("%s: %v", job, err)
		}
	}
	checkError(t, p.Fail(t.Context(), key("no"), "x"), core.BadCall, "job id")
}

// TestBlame names a node's fault to the job's user, and leaves it to the prolog to end the job.
func TestBlame(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	if err := p.Blame(t.Context(), key(oneF58), "node02", "cxi1 is gone\nsince 3"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"type":"weft"`, `"severity":1`, `"note":"node node02: cxi1 is gone since 3"`} {
		if got := last(b.Events(one)); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	b.End(one)
	if err := p.Blame(t.Context(), key(oneF58), "node02", "x"); err != nil {
		t.Errorf("a job that is over: %v", err)
	}
}

func TestDrain(t *testing.T) {
	p, b := adapter(t)
	drained := func(want string) {
		t.Helper()
		if got, _ := b.Drained(1); got != want {
			t.Errorf("drained for %q, want %q", got, want)
		}
	}
	for range 2 {
		if err := p.Drain(t.Context(), "node02", "cxi1 is gone"); err != nil {
			t.Fatal(err)
		}
		drained("weft: cxi1 is gone")
	}
	// Ours is the newer, and says more than Flux's own.
	for _, was := range []string{"weft: something older", "prolog failed for job ƒL9zLoUb"} {
		b.Drain(1, was)
		if err := p.Drain(t.Context(), "node02", "cxi1 is gone"); err != nil {
			t.Fatal(err)
		}
		drained("weft: cxi1 is gone")
	}
	// A person's stays, also where no reason was given, and no Resume takes the node back.
	for _, was := range []string{"", "disk is full, see ticket 7"} {
		b.Drain(1, was)
		if err := p.Drain(t.Context(), "node02", "cxi1 is gone"); err != nil {
			t.Fatal(err)
		}
		drained(was)
		if err := p.Resume(t.Context(), "node02"); err != nil {
			t.Fatal(err)
		}
		if _, is := b.Drained(1); !is {
			t.Errorf("drained for %q by a person, and in service again", was)
		}
	}
	if err := p.Drain(t.Context(), "node01", "cxi1 is gone"); err != nil {
		t.Fatal(err)
	}
	got, err := p.Drained(t.Context())
	slices.SortFunc(got, func(a, b core.Drained) int { return strings.Compare(a.Hosts, b.Hosts) })
	want := []core.Drained{
		{Hosts: "node01", Drain: core.Drain{Reason: "weft: cxi1 is gone", Since: 1}},
		{Hosts: "node02", Drain: core.Drain{Reason: "disk is full, see ticket 7", Since: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := p.Resume(t.Context(), "node01"); err != nil {
		t.Fatal(err)
	}
	if _, other := b.Drained(0); other {
		t.Error("another node was drained")
	}
	checkError(t, p.Drain(t.Context(), "login1", "x"), core.NotSupported, "login1")
	checkError(t, p.Drain(t.Context(), "0-1", "x"), core.NotSupported, "0-1")
	checkError(t, p.Drain(t.Context(), "a b", "x"), core.BadCall, "a b")
}

func TestResume(t *testing.T) {
	p, b := adapter(t)
	check := func(what, reason string, drained bool) {
		t.Helper()
		if err := p.Resume(t.Context(), "node02"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got, is := b.Drained(1); is != drained || got != reason {
			t.Errorf("%s: drained %t for %q", what, is, got)
		}
	}
	check("in service", "", false)
	if err := p.Drain(t.Context(), "node02", "cxi1 is gone"); err != nil {
		t.Fatal(err)
	}
	check("drained by Weft", "", false)
	for _, reason := range []string{"disk is full, see ticket 7", "prolog failed for job ƒL9zLoUb", ""} {
		b.Drain(1, reason)
		check("drained by another", reason, true)
	}
	checkError(t, p.Resume(t.Context(), "login1"), core.NotSupported, "login1")
	checkError(t, p.Resume(t.Context(), "a b"), core.BadCall, "a b")
}

func TestAnnotate(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	g := core.Grant{
		Run: core.Run{Key: key(oneF58)}, VNIs: []core.VNI{1024, 1030}, Classes: core.LowLatency | core.BestEffort, Inventory: []string{"cxi0", "cxi1"},
		Collective: &core.Collective{JobID: "c", Token: "secret", URL: "https://fm", Addresses: 24},
		Warnings:   []string{"hwcoll: fewer"},
	}
	g.Limits[core.LE] = core.Limit{Max: 16384, Reserved: 64}
	if err := p.Annotate(t.Context(), key(oneF58), g); err != nil {
		t.Fatal(err)
	}
	got := last(b.Events(one))
	want := `{"context":{"limits":{"les":{"max":16384,"reserved":64}},"multicast_addresses":24,"nics":["cxi0","cxi1"],"tcs":["LOW_LATENCY","BEST_EFFORT"],"vnis":[1024,1030],"warnings":["hwcoll: fewer"]},"name":"weft",`
	if !strings.HasPrefix(got, want) || strings.Contains(got, "secret") {
		t.Error(got)
	}
	before := len(b.Events(one))
	if err := p.Annotate(t.Context(), key(oneF58), g); err != nil || len(b.Events(one)) != before {
		t.Errorf("it is shown already: %v, %q", err, b.Events(one)[before:])
	}
	if err := p.Annotate(t.Context(), key("ƒzz"), g); err != nil {
		t.Errorf("a job that was never heard of: %v", err)
	}
	if err := p.Annotate(t.Context(), key(oneF58), core.Grant{Run: g.Run}); err != nil || !strings.Contains(last(b.Events(one)), `"context":{"vnis":[]}`) {
		t.Errorf("no network: %v, %s", err, last(b.Events(one)))
	}
	b.End(one)
	if err := p.Annotate(t.Context(), key(oneF58), g); err != nil {
		t.Errorf("a job that is over: %v", err)
	}
	if slices.ContainsFunc(b.Events(one), func(e string) bool { return strings.Contains(e, "secret") || strings.Contains(e, "https") }) {
		t.Error("the token is in the eventlog")
	}
}

// TestAJobThatWaits has a memo that says why, once for each reason, and none once it has its grant.
func TestAJobThatWaits(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	step := func(what string, do func() error, want ...string) {
		t.Helper()
		before := len(b.Events(one))
		err := do()
		got := b.Events(one)[before:]
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %v, %q", what, err, got)
		}
		for i, e := range got {
			if !strings.HasPrefix(e, `{"context":{`+want[i]) {
				t.Errorf("%s: %s, want %s", what, e, want[i])
			}
		}
	}
	empty := func() error { return p.Requeue(t.Context(), key(oneF58), "pool jobs: it is empty\n(1 of 1)") }
	away := func() error { return p.Requeue(t.Context(), key(oneF58), "the server is away") }
	grant := func() error {
		return p.Annotate(t.Context(), key(oneF58), core.Grant{Run: core.Run{Key: key(oneF58)}, VNIs: []core.VNI{1024}})
	}
	step("first", empty, `"weft":"waits: pool jobs: it is empty (1 of 1)"},"name":"memo"`)
	step("again", empty)
	step("another reason", away, `"weft":"waits: the server is away"},"name":"memo"`)
	step("granted", grant, `"weft":null},"name":"memo"`, `"vnis":[1024]},"name":"weft"`)
	step("granted again", grant)
	b.End(one)
	for _, job := range []string{oneF58, "ƒzz"} {
		if err := p.Requeue(t.Context(), key(job), "x"); err != nil {
			t.Errorf("%s: %v", job, err)
		}
	}
	checkError(t, p.Requeue(t.Context(), key("no"), "x"), core.BadCall, "job id")
}

func TestDown(t *testing.T) {
	p, b := adapter(t)
	checkError(t, p.Down(t.Context(), "node02"), core.NotAllowed, "does not call it down")
	b.Offline("1")
	if err := p.Down(t.Context(), "node02"); err != nil {
		t.Error(err)
	}
	checkError(t, p.Down(t.Context(), "login1"), core.NotSupported, "login1")
}

// TestRanksThatRLacks has an instance whose R has no management node: ranks and names part there.
func TestRanksThatRLacks(t *testing.T) {
	p, b := adapter(t)
	b.Hosts("", "n1", "n2")
	b.Drain(2, "x")
	b.Offline("1")
	all, err := p.Drained(t.Context())
	if err != nil || len(all) != 1 || all[0].Hosts != "n2" {
		t.Errorf("drained: %+v, %v", all, err)
	}
	if err := p.Down(t.Context(), "n1"); err != nil {
		t.Errorf("n1: %v", err)
	}
	if err := p.Down(t.Context(), "n2"); err == nil {
		t.Error("n2 is down")
	}
}
