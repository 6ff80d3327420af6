package slurm

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

// groups are users' groups, which squeue does not tell, kept for a short while.
type groups struct {
	mu sync.Mutex
	of map[string]membership
}

type membership struct {
	groups []string
	until  time.Time
}

// Bounds of what is kept.
const (
	keepGroups = time.Minute
	maxKept    = 4096
)

// idCommand asks the host's user database through whatever it is made of (NSS). weft is linked statically and could read /etc/group alone; a group that is
// missing could miss a deny.
const idCommand = "/usr/bin/id"

// groupsOf are the names of a user's groups, the job's own among them. Of a user whom this host does not know only that is told; a database that fails is an
// error.
func (p *Plugin) groupsOf(ctx context.Context, r row) ([]string, error) {
	all, err := p.memberships(ctx, r.user)
	if err != nil {
		return nil, err
	}
	own := r.group
	if own == "" {
		own = strconv.FormatUint(uint64(r.gid), 10)
	}
	all = append(slices.Clone(all), own)
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (p *Plugin) memberships(ctx context.Context, user string) ([]string, error) {
	now := time.Now()
	p.groups.mu.Lock()
	m, kept := p.groups.of[user]
	p.groups.mu.Unlock()
	if kept && now.Before(m.until) {
		return m.groups, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, idCommand, "-Gnz", "--", user)
	var f *failure
	switch {
	case err == nil:
	case errors.As(err, &f) && strings.Contains(f.says, "no such user"):
		text = nil
	default:
		return nil, core.Errorf(core.SchedulerAway, "groups of user %q: %w", core.Clip(user), err).WithRemedy("see whether this host's user database answers: `id " + core.Clip(user) + "`")
	}
	m = membership{until: now.Add(keepGroups)}
	for name := range strings.SplitSeq(string(text), "\x00") {
		if name != "" {
			m.groups = append(m.groups, strings.ToValidUTF8(name, "?"))
		}
	}
	p.groups.mu.Lock()
	defer p.groups.mu.Unlock()
	if p.groups.of == nil || len(p.groups.of) >= maxKept {
		p.groups.of = map[string]membership{}
	}
	p.groups.of[user] = m
	return m.groups, nil
}
