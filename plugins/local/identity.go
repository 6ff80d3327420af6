package local

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
)

// identity is whose a job is.
type identity struct {
	uid, gid uint32
	user     string
	groups   []string
}

// identify decides whose job the caller begins: its own, or for root that of the user whom it names. A caller's groups are those that the kernel holds of
// its process; another's are those of the user database.
func (t *Table) identify(ctx context.Context, peer core.Peer, creds owner, name string) (identity, error) {
	if name == "" {
		return t.own(ctx, peer, creds)
	}
	u, err := t.people.User(ctx, name)
	switch {
	case errors.Is(err, people.ErrUnknown):
		return identity{}, core.Errorf(core.BadRequest, "user %q: there is no such user", core.Clip(name)).WithRemedy("give the name of a user of this node")
	case err != nil:
		return identity{}, err
	case u.UID == peer.UID:
		return t.own(ctx, peer, creds)
	case !peer.Root():
		return identity{}, core.Errorf(core.NotAllowed, "user %s: uid %d may begin jobs of its own only", core.Clip(name), peer.UID).WithRemedy("leave --user out, or be root")
	}
	groups, err := t.people.Groups(ctx, u)
	return identity{uid: u.UID, gid: u.GID, user: u.Name, groups: groups}, err
}

// own is the caller. The kernel says all that counts; what has no name in the user database stands by its number.
func (t *Table) own(ctx context.Context, peer core.Peer, creds owner) (identity, error) {
	id := identity{uid: peer.UID, gid: peer.GID, user: strconv.FormatUint(uint64(peer.UID), 10)}
	u, err := t.people.UID(ctx, peer.UID)
	if err == nil {
		id.user = u.Name
	} else if !errors.Is(err, people.ErrUnknown) {
		return identity{}, err
	}
	for _, gid := range append([]uint32{peer.GID}, creds.groups...) {
		g, err := t.people.GID(ctx, gid)
		if errors.Is(err, people.ErrUnknown) {
			g.Name = strconv.FormatUint(uint64(gid), 10)
		} else if err != nil {
			return identity{}, err
		}
		id.groups = append(id.groups, g.Name)
	}
	slices.Sort(id.groups)
	id.groups = slices.Compact(id.groups)
	return id, nil
}
