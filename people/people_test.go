package people

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people/peopletest"
)

// programs makes getent and id of two shell texts.
func programs(t *testing.T, getent, id string) *Database {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"getent": getent, "id": id} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return New(command.Programs{Whose: "the host's", Folder: dir}.Runner())
}

const entries = `
case "$1 $3" in
"passwd alice"|"passwd 1001") echo 'alice:x:1001:100:Alice:/users/alice:/bin/sh' ;;
"passwd 4294967295") echo 'nobody:x:4294967295:100::/:/bin/sh' ;;
"passwd odd") echo odd ;;
"passwd minus") echo 'minus:x:-1:100::/:/bin/sh' ;;
"passwd dead") echo 'cannot reach the directory' >&2; exit 1 ;;
"group users"|"group 100") echo 'users:x:100:alice,bob' ;;
"group odd") echo 'odd:x:many:' ;;
*) exit 2 ;;
esac`

const memberships = `
case "$1 $3" in
"-Gz alice") printf '100\000200\000100\000' ;;
"-Gnz alice") printf 'users\000ops\000' ;;
esac`

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		ask     func(*Database) (any, error)
		want    any
		unknown bool
		says    string
	}{
		"by name":          {ask: user("alice"), want: User{"alice", "/users/alice", 1001, 100}},
		"by uid":           {ask: uid(1001), want: User{"alice", "/users/alice", 1001, 100}},
		"unknown":          {ask: user("bob"), unknown: true, says: `user "bob": this host's user database does not have it`},
		"an unknown uid":   {ask: uid(1002), unknown: true, says: `user "1002"`},
		"a number":         {ask: user("1001"), unknown: true},
		"an option":        {ask: user("--help"), unknown: true},
		"a uid to id":      {ask: user("+0"), unknown: true},
		"no name":          {ask: user(""), unknown: true},
		"several":          {ask: user("alice\nbob"), unknown: true},
		"nobody's uid":     {ask: uid(core.NoUID), says: "no user has them"},
		"no entry":         {ask: user("odd"), says: "is no entry of passwd"},
		"no uid":           {ask: user("minus"), says: `uid "-1"`},
		"a dead directory": {ask: user("dead"), says: "getent: cannot reach the directory"},
		"group":            {ask: group("users"), want: Group{"users", 100}},
		"group by gid":     {ask: gid(100), want: Group{"users", 100}},
		"an unknown group": {ask: group("ops"), unknown: true},
		"a group's number": {ask: group("100"), unknown: true},
		"no gid":           {ask: group("odd"), says: `gid "many"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.ask(programs(t, entries, memberships))
			if c.want != nil {
				if err != nil || got != c.want {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			e, ok := errors.AsType[*core.Error](err)
			if !ok || e.Reason != core.SchedulerAway || !strings.Contains(e.What, c.says) || e.Remedy == "" {
				t.Errorf("%+v, %v", got, err)
			}
			if errors.Is(err, ErrUnknown) != c.unknown {
				t.Errorf("unknown: %v", err)
			}
		})
	}
}

func user(name string) func(*Database) (any, error) {
	return func(d *Database) (any, error) { return d.User(context.Background(), name) }
}

func uid(n uint32) func(*Database) (any, error) {
	return func(d *Database) (any, error) { return d.UID(context.Background(), n) }
}

func group(name string) func(*Database) (any, error) {
	return func(d *Database) (any, error) { return d.Group(context.Background(), name) }
}

func gid(n uint32) func(*Database) (any, error) {
	return func(d *Database) (any, error) { return d.GID(context.Background(), n) }
}

func TestGroupsOfAUser(t *testing.T) {
	d := programs(t, entries, memberships)
	alice, err := d.User(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	names, err := d.Groups(t.Context(), alice, "job", "ops")
	if err != nil || !slices.Equal(names, []string{"job", "ops", "users"}) {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := d.Groups(t.Context(), alice); err != nil || !slices.Equal(names, []string{"ops", "users"}) {
		t.Errorf("%q, %v: the kept answer was changed", names, err)
	}
	if gids, err := d.GIDs(t.Context(), alice); err != nil || !slices.Equal(gids, []uint32{100, 200}) {
		t.Errorf("%d, %v", gids, err)
	}
}

// No fault of id becomes a user without groups.
func TestGroupsThatNobodyKnows(t *testing.T) {
	for name, id := range map[string]string{
		"nothing":          "exit 0",
		"a group unnamed":  `printf 'users\000200\000'; echo "id: cannot find name for group ID 200" >&2; exit 1`,
		"half a list":      `printf 'users\000op'`,
		"a dead directory": "exit 1",
		"no such user":     `echo "id: 'alice': no such user" >&2; exit 1`,
		"getent's code":    "exit 2",
		"too much":         "head -c 17000000 /dev/zero",
		"a signal":         "kill -9 $$",
	} {
		t.Run(name, func(t *testing.T) {
			d := programs(t, entries, id)
			names, err := d.Groups(t.Context(), User{Name: "alice"})
			e, ok := errors.AsType[*core.Error](err)
			if !ok || e.Reason != core.SchedulerAway || len(names) > 0 || errors.Is(err, ErrUnknown) {
				t.Errorf("%q, %v", names, err)
			}
			if gids, err := d.GIDs(t.Context(), User{Name: "alice"}); err == nil {
				t.Errorf("%d", gids)
			}
		})
	}
}

func TestADatabaseThatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := programs(t, "exec sleep 600", "").User(ctx, "alice")
	e := core.AsError(err)
	if e == nil || e.Reason != core.SchedulerAway || !strings.Contains(e.What, "it does not answer") {
		t.Error(err)
	}
	var left time.Duration
	_, _ = New(func(ctx context.Context, _ string, _ ...string) ([]byte, error) {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return nil, ctx.Err()
	}).User(t.Context(), "alice")
	if left <= 0 || left > Patience {
		t.Errorf("a caller without a deadline waits %s", left)
	}
}

// An answer is fresh for a minute and stands for an hour, and an unknown user is as unknown.
func TestHowLongAnAnswerStands(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	asked, says := 0, error(nil)
	table := peopletest.Table{Users: map[uint32]string{1001: "alice"}}
	d := New(func(ctx context.Context, name string, args ...string) ([]byte, error) {
		asked++
		if says != nil {
			return nil, says
		}
		return table.Run(ctx, name, args...)
	})
	now := time.Unix(1795836284, 0)
	d.now = func() time.Time { return now }
	away, unknown := errors.New("the directory is away"), error(&command.Failure{Command: "getent", Code: notFound})
	for _, step := range []struct {
		what  string
		later time.Duration
		says  error
		name  string
		asks  int
		known bool
		logs  int
	}{
		{"the first time", 0, nil, "alice", 1, true, 0},
		{"a moment later", Fresh - 1, away, "alice", 0, true, 0},
		{"it is away", 1, away, "alice", 1, true, 1},
		{"it is asked no more for a while", Fresh - 1, away, "alice", 0, true, 0},
		{"a directory that is away looks like an unknown user", 1, unknown, "alice", 1, true, 1},
		{"until the answer is too old", Stale - 2*Fresh, unknown, "alice", 1, false, 0},
		{"which is an answer too", Fresh - 1, away, "alice", 0, false, 0},
		{"she is back", 1, nil, "alice", 1, true, 0},
		{"it was never known", 0, away, "bob", 1, false, 0},
		{"and a fault is no answer", 0, away, "bob", 1, false, 0},
		{"no such user", 0, unknown, "bob", 1, false, 0},
		{"nor in the next minute", Fresh - 1, nil, "bob", 0, false, 0},
	} {
		now, says, asked = now.Add(step.later), step.says, 0
		log.Reset()
		u, err := d.User(t.Context(), step.name)
		known, logs := err == nil && u.Name == step.name, strings.Count(log.String(), "its last one stands")
		if known != step.known || asked != step.asks || logs != step.logs {
			t.Errorf("%s: %+v, %v, asked %d times; %s", step.what, u, err, asked, &log)
		}
	}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	d := New(func(_ context.Context, _ string, args ...string) ([]byte, error) {
		return []byte(args[2] + ":x:1001:100::/:\n"), nil
	})
	for i := range mostKept + 100 {
		if _, err := d.User(t.Context(), "u"+strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.users.kept) != mostKept {
		t.Error(len(d.users.kept))
	}
}

// A directory has the group, and /etc/passwd and /etc/group know nothing of its members.
func TestMember(t *testing.T) {
	table := peopletest.Table{
		Users:  map[uint32]string{2100000001: "alice", 2100000002: "bob"},
		Groups: map[uint32]string{2100000200: "weft-ops"},
		Member: map[string][]uint32{"alice": {2100000100, 2100000200}, "bob": {2100000100}},
	}
	for _, tt := range []struct {
		what, group string
		uid         uint32
		fails       string
		may         bool
	}{
		{what: "a member", group: "weft-ops", uid: 2100000001, may: true},
		{what: "no member", group: "weft-ops", uid: 2100000002},
		{what: "whom nobody knows", group: "weft-ops", uid: 2100000003},
		{what: "a group that there is not", group: "weft-admin", uid: 2100000001},
		{what: "a group's number", group: "2100000200", uid: 2100000001},
		{what: "the directory is away", group: "weft-ops", uid: 2100000001, fails: "passwd"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			asked := 0
			d := New(func(ctx context.Context, name string, args ...string) ([]byte, error) {
				asked++
				if tt.fails != "" && args[0] == tt.fails {
					return nil, errors.New("the directory is away")
				}
				return table.Run(ctx, name, args...)
			})
			if got := d.Member(t.Context(), tt.uid, tt.group); got != tt.may {
				t.Errorf("%v, want %v", got, tt.may)
			}
			before := asked
			if got := d.Member(t.Context(), tt.uid, tt.group); got != tt.may || asked != before && tt.fails == "" {
				t.Errorf("%v, want %v; asked %d times more", got, tt.may, asked-before)
			}
		})
	}
}

// The programs that are run are there, and say what is expected.
func TestTheHostsOwnDatabase(t *testing.T) {
	d := New(nil)
	root, err := d.UID(t.Context(), 0)
	if err != nil || root.Name != "root" {
		t.Fatalf("%+v, %v", root, err)
	}
	if names, err := d.Groups(t.Context(), root); err != nil || !slices.Contains(names, "root") {
		t.Errorf("%q, %v", names, err)
	}
	if gids, err := d.GIDs(t.Context(), root); err != nil || !slices.Contains(gids, 0) {
		t.Errorf("%d, %v", gids, err)
	}
	if _, err := d.User(t.Context(), "weft-no-such-user"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := d.GID(t.Context(), 2147483601); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("alice:x:1001:100:Alice:/users/alice:/bin/sh\n", "100\x00200\x00")
	f.Add("::::::", "\x00")
	f.Add("a:b:4294967295:0::", "-1\x00")
	f.Fuzz(func(t *testing.T, entry, ids string) {
		d := New(func(_ context.Context, name string, _ ...string) ([]byte, error) {
			if name == "id" {
				return []byte(ids), nil
			}
			return []byte(entry), nil
		})
		if u, err := d.User(t.Context(), "alice"); err == nil && (u.Name == "" || u.UID == core.NoUID) {
			t.Errorf("%+v", u)
		}
		if g, err := d.Group(t.Context(), "users"); err == nil && g.Name == "" {
			t.Errorf("%+v", g)
		}
		if gids, err := d.GIDs(t.Context(), User{Name: "alice"}); err == nil && len(gids) == 0 {
			t.Error("a user without groups")
		}
		if names, err := d.Groups(t.Context(), User{Name: "alice"}); err == nil && (len(names) == 0 || names[0] == "") {
			t.Errorf("%q", names)
		}
	})
}
