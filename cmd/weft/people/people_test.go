package people

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// Admins are in a directory, and /etc/passwd and /etc/group know nothing of them.
func TestAdminsOfADirectory(t *testing.T) {
	answers := map[string]string{
		"group -- weft-ops":    "weft-ops:*:2100000200:alice\n",
		"group -- 2100000200":  "weft-ops:*:2100000200:alice\n",
		"passwd -- 2100000001": "alice:*:2100000001:2100000100:Alice:/nonexistent:/bin/sh\n",
		"passwd -- 2100000002": "bob:*:2100000002:2100000100:Bob:/nonexistent:/bin/sh\n",
		"-Gz -- alice":         "2100000100\x002100000200\x00",
		"-Gz -- bob":           "2100000100\x00",
	}
	for _, tt := range []struct {
		what, group string
		uid, gid    uint32
		fails       string
		may         bool
	}{
		{what: "a member", group: "weft-ops", uid: 2100000001, gid: 2100000100, may: true},
		{what: "by the group of its process", group: "weft-ops", uid: 2100000002, gid: 2100000200, may: true},
		{what: "no member", group: "weft-ops", uid: 2100000002, gid: 2100000100},
		{what: "whom nobody knows", group: "weft-ops", uid: 2100000003, gid: 2100000100},
		{what: "a group that there is not", group: "weft-admin", uid: 2100000001, gid: 2100000100},
		{what: "a group's number", group: "2100000200", uid: 2100000001, gid: 2100000100},
		{what: "the directory is away", group: "weft-ops", uid: 2100000001, gid: 2100000100, fails: "passwd"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			asked := 0
			p := New()
			p.run = func(_ context.Context, args ...string) (string, error) {
				asked++
				line := strings.Join(args[1:], " ")
				if tt.fails != "" && strings.Contains(line, tt.fails) {
					return "", errors.New("the directory is away")
				}
				if text, ok := answers[line]; ok {
					return text, nil
				}
				return "", ErrNobody
			}
			d := &server.Verbs{AdminGroup: tt.group, Member: p.Member}
			peer := core.Peer{UID: tt.uid, GID: tt.gid, PID: 1}
			if got := d.Admin(t.Context(), peer); got != tt.may {
				t.Errorf("%v, want %v", got, tt.may)
			}
			before := asked
			if got := d.Admin(t.Context(), peer); got != tt.may || asked != before && tt.fails == "" {
				t.Errorf("%v, want %v; asked %d times more", got, tt.may, asked-before)
			}
		})
	}
}

// The programs that are run are there, and say what is expected.
func TestTheHostsOwnDatabase(t *testing.T) {
	p := New()
	if a, err := p.Account(t.Context(), "0"); err != nil || a.Name != "root" || len(a.Groups) == 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := p.Account(t.Context(), "weft-no-such-user"); !errors.Is(err, ErrNobody) {
		t.Error(err)
	}
}
