// Package people asks this host's user database who a user is and which groups a user has.
//
// It runs getent(1) and id(1), because they reach every source of the database (NSS). Weft is linked statically and
// could read /etc/passwd and /etc/group alone. A question has one of four outcomes:
//
//   - An answer at most Fresh old.
//   - An answer at most Stale old, where the database gives none now; the log says so. getent ends alike for a user who
//     does not exist and for a directory that is away. So a user who was there an hour ago counts as being there.
//   - ErrUnknown: the database has no such user or group, and had none within Stale.
//   - Another error: the database does not answer.
//
// The last two never become a user without groups. Policy can deny by group, and an unknown group must not be missing
// there. A caller that cannot know a job's groups refuses the job, or lets it wait.
package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// Patience is how long one question may take, whatever its caller's own deadline.
const Patience = 10 * time.Second

// maxAnswer bounds one answer, in bytes: a group's entry has all its members.
const maxAnswer = 16 << 20

// ErrUnknown is a user or a group that the database does not have.
var ErrUnknown = errors.New("this host's user database does not have it")

// User is an entry of passwd(5).
type User struct {
	Name, Home string
	UID, GID   uint32
}

// Group is an entry of group(5).
type Group struct {
	Name string
	GID  uint32
}

// Database is this host's user database. All errors of its methods are core.Errors with a remedy.
type Database struct {
	run    command.Runner
	now    func() time.Time
	users  memory[User]
	groups memory[Group]
	ids    memory[[]string] // what id said
}

// New makes a Database that asks the programs getent and id, which run runs; nil: the host's own.
func New(run command.Runner) *Database {
	if run == nil {
		run = command.Programs{Whose: "the host's", Folder: "/usr/bin", Remedy: remedy}.Runner()
	}
	return &Database{run: run, now: time.Now}
}

// User is the user of that name. A number is no name, even if it is the uid of a user.
func (d *Database) User(ctx context.Context, name string) (User, error) {
	u, err := d.user(ctx, name)
	if err == nil && isNumber(name) && u.Name != name {
		err = away("user", name, ErrUnknown)
	}
	return u, err
}

// UID is the user of that number.
func (d *Database) UID(ctx context.Context, uid uint32) (User, error) {
	u, err := d.user(ctx, digits(uid))
	if err == nil && u.UID != uid {
		err = away("user", digits(uid), ErrUnknown)
	}
	return u, err
}

// Group is the group of that name. A number is no name, even if it is the gid of a group.
func (d *Database) Group(ctx context.Context, name string) (Group, error) {
	g, err := d.group(ctx, name)
	if err == nil && isNumber(name) && g.Name != name {
		err = away("group", name, ErrUnknown)
	}
	return g, err
}

// GID is the group of that number.
func (d *Database) GID(ctx context.Context, gid uint32) (Group, error) {
	g, err := d.group(ctx, digits(gid))
	if err == nil && g.GID != gid {
		err = away("group", digits(gid), ErrUnknown)
	}
	return g, err
}

// GIDs are the numbers of all groups of a user, its own among them.
func (d *Database) GIDs(ctx context.Context, u User) ([]uint32, error) {
	fields, err := d.id(ctx, "-Gz", u)
	if err != nil {
		return nil, err
	}
	gids := []uint32{u.GID}
	for _, field := range fields {
		gid, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return nil, away("groups of user", u.Name, fmt.Errorf("id: %q is no group's number", core.Clip(field)))
		}
		gids = append(gids, uint32(gid))
	}
	slices.Sort(gids)
	return slices.Compact(gids), nil
}

// Groups are the names of all groups of a user and more ones, sorted. A group without a name is an error: a deny could
// be about that group.
func (d *Database) Groups(ctx context.Context, u User, more ...string) ([]string, error) {
	names, err := d.id(ctx, "-Gnz", u)
	if err != nil {
		return nil, err
	}
	names = slices.Concat(names, more)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Member reports whether a user belongs to a group. The groups of a process prove nothing: newgrp(1) and a setgid
// program give it others. It is false where the database does not answer.
func (d *Database) Member(ctx context.Context, uid uint32, group string) bool {
	g, err := d.Group(ctx, group)
	if err != nil {
		return false
	}
	u, err := d.UID(ctx, uid)
	if err != nil {
		return false
	}
	gids, err := d.GIDs(ctx, u)
	return err == nil && slices.Contains(gids, g.GID)
}
