package main

import (
	"os"
	"os/user"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// Where the scheduler's name of a user was lost with a store, this host's is shown; a number is the last resort.
func TestAccount(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name string
		uid  uint32
		want string
	}{
		{"ann", uint32(os.Getuid()), "ann"},
		{"", uint32(os.Getuid()), me.Username},
		{"", 4_000_000_001, "4000000001"},
	} {
		if got := account(test.name, test.uid); got != test.want {
			t.Errorf("user %q, uid %d: %s, want %s", test.name, test.uid, got, test.want)
		}
	}
}

// Services that no record explains are of no scheduler.
func TestPrintJob(t *testing.T) {
	for _, test := range []struct {
		row  server.JobRow
		want string
	}{
		{server.JobRow{Scheduler: "tioga", Job: "7", User: "ann", State: "active"}, "job tioga/7, run 0, of ann: active since "},
		{server.JobRow{Job: "unknown:n1:900:102", UID: 900, State: "held", Unknown: true}, "unknown:n1:900:102, not made by Weft: held since "},
	} {
		test.row.VNIs = []core.VNI{102}
		var out strings.Builder
		printJob(&out, server.JobDetail{JobRow: test.row})
		if got := out.String(); !strings.HasPrefix(got, test.want) || strings.Contains(got, "traffic classes") {
			t.Errorf("%q, want %q first and no empty line", got, test.want)
		}
	}
}
