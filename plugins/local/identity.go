package local

import (
	"context"
	"errors"
	"os/user"
	"slices"
	"strconv"

	"github.com/weft-hpc/weft/core"
)

// identity is whose a job is.
type identity struct {
	uid, gid uint32
	user     string
	groups   []string
}

// directory asks the site's user database, which may be a network away and may hang: a call is left behind when its context ends, and the number of
// those that hang is bounded.
type directory chan struct{}

const lookups = 16

func newDirectory() directory { return make(directory, lookups) }

func (d directory) ask(ctx context.Context, f func() (identity, error)) (identity, error) {
	select {
	case d <- struct{}{}:
	case <-ctx.Done():
		return identity{}, core.Errorf(core.TimedOut, "user database: it does not answer: %w", ctx.Err())
	}
	type answer struct {
		id  identity
		err error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-d }()
		id, err := f()
		done <- answer{id, err}
	}()
	select {
	case a := <-done:
		return a.id, a.err
	case <-ctx.Done():
		return identity{}, core.Errorf(core.TimedOut, "user database: it does not answer: %w", ctx.Err())
	}
}

// of decides whose job the caller begins: its own, or for root that of the user whom it names. A caller's groups are those that the kernel holds of its
// process; another's are those of the user database.
func (d directory) of(ctx context.Context, peer core.Peer, creds owner, name string) (identity, error) {
	if name == "" {
		return d.ask(ctx, func() (identity, error) { return own(peer, creds), nil })
	}
	id, err := d.ask(ctx, func() (identity, error) { return named(name) })
	switch {
	case err != nil:
		return id, err
	case id.uid == peer.UID:
		return d.ask(ctx, func() (identity, error) { return own(peer, creds), nil })
	case !peer.Root():
		return identity{}, core.Errorf(core.NotAllowed, "user %s: uid %d may begin jobs of its own only", core.Clip(name), peer.UID).WithMend("leave --user out, or be root")
	}
	return id, nil
}

func own(peer core.Peer, creds owner) identity {
	id := identity{uid: peer.UID, gid: peer.GID, user: strconv.FormatUint(uint64(peer.UID), 10)}
	if u, err := user.LookupId(id.user); err == nil {
		id.user = u.Username
	}
	for _, g := range append([]uint32{peer.GID}, creds.groups...) {
		id.groups = append(id.groups, groupName(strconv.FormatUint(uint64(g), 10)))
	}
	id.groups = unique(id.groups)
	return id
}

func named(name string) (identity, error) {
	u, err := user.Lookup(name)
	if err != nil {
		if _, ok := errors.AsType[user.UnknownUserError](err); ok {
			return identity{}, core.Errorf(core.BadRequest, "user %q: there is no such user", core.Clip(name)).WithMend("give the name of a user of this node")
		}
		return identity{}, core.Errorf(core.SchedulerAway, "user %q: %w", core.Clip(name), err).WithMend("see whether the node's user database answers: `getent passwd`")
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	gids, err3 := u.GroupIds()
	if err := errors.Join(err1, err2, err3); err != nil || uint32(uid) == core.NoUID {
		return identity{}, core.Errorf(core.SchedulerAway, "user %q: the user database tells no uid, gid and groups: %v", core.Clip(name), err)
	}
	id := identity{uid: uint32(uid), gid: uint32(gid), user: u.Username}
	for _, g := range append([]string{u.Gid}, gids...) {
		id.groups = append(id.groups, groupName(g))
	}
	id.groups = unique(id.groups)
	return id, nil
}

// groupName is a group's name, or its number where it has none.
func groupName(gid string) string {
	if g, err := user.LookupGroupId(gid); err == nil {
		return g.Name
	}
	return gid
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
