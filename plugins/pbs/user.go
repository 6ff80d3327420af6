package pbs

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
)

// user is what a host knows of a user: PBS tells names, a NIC wants numbers.
type user struct {
	uid    uint32
	gid    uint32 // of the job's group
	groups []string
}

// account is a job's user. A user whom this host does not know is people.ErrUnknown: nobody can say whose services they would be.
func (p *Plugin) account(ctx context.Context, name string) (people.User, error) {
	if name == "" {
		return people.User{}, core.Errorf(core.SchedulerAway, "PBS does not say whose job it is").WithRemedy(beManager)
	}
	return p.people.User(ctx, name)
}

// user looks up a job's user and group, which is the user's own where PBS names none.
func (p *Plugin) user(ctx context.Context, name, group string) (user, error) {
	a, err := p.account(ctx, name)
	if err != nil {
		return user{}, err
	}
	u := user{uid: a.UID, gid: a.GID}
	if group == "" {
		u.groups, err = p.people.Groups(ctx, a)
		return u, err
	}
	g, err := p.people.Group(ctx, group)
	if err != nil {
		return user{}, err
	}
	u.gid = g.GID
	u.groups, err = p.people.Groups(ctx, a, group)
	return u, err
}
