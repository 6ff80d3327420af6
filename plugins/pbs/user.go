package pbs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Programs that ask the host's user database through whatever it is made of (NSS). weft is linked statically and could read /etc/passwd alone; a group that is
// missing could miss a deny.
const (
	idCommand     = "/usr/bin/id"
	getentCommand = "/usr/bin/getent"
)

// user is what a host knows of a user: PBS tells names, a NIC wants numbers.
type user struct {
	uid    uint32
	gid    uint32 // of the job's group
	groups []string
}

// users are kept for a short while.
type users struct {
	mu sync.Mutex
	of map[[2]string]kept
}

type kept struct {
	user
	until time.Time
}

// Bounds of what is kept.
const (
	keepUsers = time.Minute
	maxUsers  = 4096
)

// user looks up a job's user and group. A user whom this host does not know is an error: nobody can say whose services they would be.
func (p *Plugin) user(ctx context.Context, name, group string) (user, error) {
	now, key := time.Now(), [2]string{name, group}
	p.users.mu.Lock()
	u, known := p.users.of[key]
	p.users.mu.Unlock()
	if known && now.Before(u.until) {
		return u.user, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	got, err := p.lookUp(ctx, name, group)
	if err != nil && known { // who ran a minute ago does not become another while the database is away
		return u.user, nil
	}
	if err != nil {
		return user{}, core.Errorf(core.SchedulerAway, "user %q: %w", core.Clip(name), err).WithRemedy("see whether this host's user database knows the user: `id " + core.Clip(name) + "`")
	}
	p.users.mu.Lock()
	defer p.users.mu.Unlock()
	if p.users.of == nil || len(p.users.of) >= maxUsers {
		p.users.of = map[[2]string]kept{}
	}
	p.users.of[key] = kept{got, now.Add(keepUsers)}
	return got, nil
}

// stranger reports whether an error says for certain that this host has no such user.
func stranger(err error) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Command == idCommand && strings.Contains(f.Says, "no such user")
}

func (p *Plugin) lookUp(ctx context.Context, name, group string) (user, error) {
	var u user
	if name == "" {
		return u, errors.New("PBS does not say whose job it is: only a manager of PBS is shown euser")
	}
	text, err := p.run(ctx, idCommand, "-u", "--", name)
	if err != nil {
		return u, err
	}
	if u.uid, err = id32(string(text)); err != nil {
		return u, err
	}
	text, err = p.run(ctx, idCommand, "-Gnz", "--", name)
	if err != nil {
		return u, err
	}
	for g := range strings.SplitSeq(string(text), "\x00") {
		if g != "" {
			u.groups = append(u.groups, strings.ToValidUTF8(g, "?"))
		}
	}
	u.gid, err = p.gid(ctx, name, group)
	if group != "" {
		u.groups = append(u.groups, group)
	}
	slices.Sort(u.groups)
	u.groups = slices.Compact(u.groups)
	return u, err
}

// gid is the number of a job's group, or of its user's own where PBS names none.
func (p *Plugin) gid(ctx context.Context, name, group string) (uint32, error) {
	if group == "" {
		text, err := p.run(ctx, idCommand, "-g", "--", name)
		if err != nil {
			return 0, err
		}
		return id32(string(text))
	}
	text, err := p.run(ctx, getentCommand, "group", "--", group)
	if err != nil {
		return 0, err
	}
	fields := strings.Split(string(text), ":") // NAME:x:GID:MEMBERS
	if len(fields) < 3 {
		return 0, errors.New("getent group: it says " + strconv.Quote(core.Clip(string(text))))
	}
	return id32(fields[2])
}

func id32(text string) (uint32, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	return uint32(n), err
}
