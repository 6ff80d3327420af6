package local

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

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
type directory struct {
	slots chan struct{}
	run   func(ctx context.Context, args ...string) (string, error) // a program of the host's
}

const lookups = 16

func newDirectory() directory { return directory{make(chan struct{}, lookups), command} }

func (d directory) ask(ctx context.Context, f func() (identity, error)) (identity, error) {
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return identity{}, core.Errorf(core.TimedOut, "user database: it does not answer: %w", ctx.Err())
	}
	type answer struct {
		id  identity
		err error
	}
	done := make(chan answer, 1)
	go func() {
		defer func() { <-d.slots }()
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
		return d.ask(ctx, func() (identity, error) { return d.own(ctx, peer, creds) })
	}
	id, err := d.ask(ctx, func() (identity, error) { return d.named(ctx, name) })
	switch {
	case err != nil:
		return id, err
	case id.uid == peer.UID:
		return d.ask(ctx, func() (identity, error) { return d.own(ctx, peer, creds) })
	case !peer.Root():
		return identity{}, core.Errorf(core.NotAllowed, "user %s: uid %d may begin jobs of its own only", core.Clip(name), peer.UID).WithRemedy("leave --user out, or be root")
	}
	return id, nil
}

func (d directory) own(ctx context.Context, peer core.Peer, creds owner) (identity, error) {
	id := identity{uid: peer.UID, gid: peer.GID, user: strconv.FormatUint(uint64(peer.UID), 10)}
	if u, err := user.LookupId(id.user); err == nil {
		id.user = u.Username
	} else if e, err := d.entry(ctx, id.user); err == nil {
		id.user = e.user
	} else if !errors.Is(err, errNobody) {
		return id, away("user "+id.user, err)
	}
	var err error
	id.groups, err = d.groupNames(ctx, append([]uint32{peer.GID}, creds.groups...))
	return id, err
}

func (d directory) named(ctx context.Context, name string) (identity, error) {
	nobody := core.Errorf(core.BadRequest, "user %q: there is no such user", core.Clip(name)).WithRemedy("give the name of a user of this node")
	if name[0] == '+' || name[0] == '-' || strings.ContainsAny(name, ":\x00\n") { // no name, and to id(1) a number or an option
		return identity{}, nobody
	}
	id, err := d.entry(ctx, name)
	switch {
	case errors.Is(err, errNobody) || err == nil && id.user != name: // a number that is somebody's uid is no name
		return identity{}, nobody
	case err != nil:
		return identity{}, away("user "+strconv.Quote(core.Clip(name)), err)
	case id.uid == core.NoUID:
		return identity{}, core.Errorf(core.SchedulerAway, "user %q: the user database tells no uid", core.Clip(name))
	}
	text, err := d.run(ctx, "/usr/bin/id", "-Gz", "--", name)
	if err != nil {
		return identity{}, away("groups of user "+strconv.Quote(core.Clip(name)), err)
	}
	gids := []uint32{id.gid}
	for g := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		n, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			return identity{}, away("groups of user "+strconv.Quote(core.Clip(name)), fmt.Errorf("id: %q is no group's number", core.Clip(g)))
		}
		gids = append(gids, uint32(n))
	}
	id.groups, err = d.groupNames(ctx, gids)
	return id, err
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
