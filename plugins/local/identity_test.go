package local

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
)

// A site's users and groups are in a directory, and /etc/passwd and /etc/group know nothing of them.
func TestUsersOfADirectory(t *testing.T) {
	answers := map[string]string{
		"getent passwd -- 2100000001": "alice:*:2100000001:2100000100:Alice:/nonexistent:/bin/sh\n",
		"getent passwd -- alice":      "alice:*:2100000001:2100000100:Alice:/nonexistent:/bin/sh\n",
		"getent group -- 2100000100":  "physics:*:2100000100:\n",
		"getent group -- 2100000200":  "ops:*:2100000200:alice,bob\n",
		"id -Gnz -- alice":            "physics\x00ops\x00",
	}
	away := errors.New("the directory is away")
	var fails string // what fails
	run := func(_ context.Context, name string, args ...string) ([]byte, error) {
		line := name + " " + strings.Join(args, " ")
		if fails != "" && strings.Contains(line, fails) {
			return nil, away
		}
		if text, ok := answers[line]; ok {
			return []byte(text), nil
		}
		return nil, &command.Failure{Command: name, Code: 2}
	}
	alice := core.Peer{UID: 2100000001, GID: 2100000100, PID: 1}
	root := core.Peer{PID: 1}
	for _, tt := range []struct {
		what, name, fails string
		peer              core.Peer
		creds             owner
		user              string
		groups            []string
		reason            core.Reason
	}{
		{what: "her own", peer: alice, creds: owner{groups: []uint32{2100000200}}, user: "alice", groups: []string{"ops", "physics"}},
		{what: "a group without a name", peer: alice, creds: owner{groups: []uint32{2100000300}}, user: "alice", groups: []string{"2100000300", "physics"}},
		{what: "nobody knows who it is", peer: core.Peer{UID: 2100000009, GID: 2100000100, PID: 1}, user: "2100000009", groups: []string{"physics"}},
		{what: "root for her", peer: root, name: "alice", user: "alice", groups: []string{"ops", "physics"}},
		{what: "root for nobody", peer: root, name: "mallory", reason: core.BadRequest},
		{what: "root for a number", peer: root, name: "2100000001", reason: core.BadRequest},
		{what: "root for an option", peer: root, name: "--help", reason: core.BadRequest},
		{what: "another for her", peer: core.Peer{UID: 2100000009, GID: 2100000100, PID: 1}, name: "alice", reason: core.NotAllowed},
		{what: "groups are not told", peer: alice, fails: "group", reason: core.SchedulerAway},
		{what: "her name is not told", peer: alice, fails: "passwd", reason: core.SchedulerAway},
		{what: "memberships are not told", peer: root, name: "alice", fails: "id -G", reason: core.SchedulerAway},
	} {
		t.Run(tt.what, func(t *testing.T) {
			fails = tt.fails
			table := Table{people: people.New(run)}
			id, err := table.identify(t.Context(), tt.peer, tt.creds, tt.name)
			if tt.reason != "" {
				if e, ok := errors.AsType[*core.Error](err); !ok || e.Reason != tt.reason {
					t.Fatalf("%+v, %v; want %s", id, err, tt.reason)
				}
				return
			}
			if err != nil || id.user != tt.user || !slices.Equal(id.groups, tt.groups) {
				t.Errorf("%v, %s", err, cmp.Diff(tt.groups, id.groups)+id.user)
			}
		})
	}
}

// The programs that are run are there, and say what is expected.
func TestTheHostsOwnDatabase(t *testing.T) {
	table := Table{people: people.New(nil)}
	root, err := table.identify(t.Context(), core.Peer{UID: 65533}, owner{}, "root")
	if reason := core.AsError(err).Reason; reason != core.NotAllowed {
		t.Errorf("%+v, %v", root, err)
	}
	root, err = table.identify(t.Context(), core.Peer{}, owner{groups: []uint32{2147483601}}, "root")
	if err != nil || root.uid != 0 || root.user != "root" || !slices.Equal(root.groups, []string{"2147483601", "root"}) {
		t.Errorf("%+v, %v", root, err)
	}
}
