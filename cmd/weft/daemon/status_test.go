package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/server"
)

func TestStatusNamesNodesWithTwoHosts(t *testing.T) {
	const line = "\nTWO HOSTS HAVE ONE CERTIFICATE, SO NOTHING OF n[1-2] IS FREED OR GRANTED: `weft nodes`"
	for hosts, want := range map[string]bool{"n[1-2]": true, "": false} {
		var out strings.Builder
		PrintStatus(&out, server.Status{TwoHosts: hosts})
		if got := strings.Contains(out.String(), line); got != want || !want && strings.Contains(out.String(), "TWO HOSTS") {
			t.Errorf("two hosts of %q:\n%s", hosts, out.String())
		}
	}
}

func TestStatusOfAStoreThatFails(t *testing.T) {
	var out strings.Builder
	PrintStatus(&out, server.Status{Version: "1", Up: "3s", Failure: "store: it is cut", Lost: "head: gone"})
	const want = "weft 1, up 3s, store not known\nNOTHING IS GRANTED: store: it is cut\n" +
		"THE STORE'S WITNESS IS LOST: head: gone\n" +
		"nodes, reservations and pools: not known while the store cannot be used\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestStatusTellsHowLongEveryVNIRests(t *testing.T) {
	for rests, want := range map[string]string{"45s": "ends by itself in 45s\n", "": "ends by itself in a moment\n"} {
		var out strings.Builder
		PrintStatus(&out, server.Status{Recovering: true, Rests: rests})
		if got := out.String(); !strings.Contains(got, "NOTHING IS GRANTED") || !strings.Contains(got, want) {
			t.Errorf("%q:\n%s", rests, got)
		}
	}
}

func TestStatusNamesSilentSchedulers(t *testing.T) {
	var out strings.Builder
	PrintStatus(&out, server.Status{Silent: []server.Silent{
		{Scheduler: "aurora", Since: time.Now().Add(-6 * time.Minute), Why: "qstat: it does not answer; see why"},
		{Scheduler: "tioga", Since: time.Now().Add(-6 * time.Minute)},
	}})
	for _, want := range []string{
		"\nSCHEDULER aurora HAS NOT TOLD ITS JOBS FOR 6m0s, SO NOTHING OF IT IS FREED: qstat: it does not answer; see why\n",
		"\nSCHEDULER tioga HAS NOT TOLD ITS JOBS FOR 6m0s, SO NOTHING OF IT IS FREED: its adapter waits for an answer; ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
		}
	}
}

// No agent has a session with a standby, so it counts none that it does not know.
func TestStatusOfAStandby(t *testing.T) {
	for leads, want := range map[bool]string{
		true:  "\nnodes: 2 of 3 attached, 1 drained\n",
		false: "\nnodes: 3, 1 drained; only the leader knows which are attached\n",
	} {
		var out strings.Builder
		s := server.Status{Nodes: 3, Attached: 2, Drained: 1, Servers: &server.ServersRow{Name: "s1", Leads: leads}}
		if PrintStatus(&out, s); !strings.Contains(out.String(), want) {
			t.Errorf("got:\n%s\nwant it to have:\n%s", out.String(), want)
		}
	}
}
