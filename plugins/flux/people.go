package flux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// people are users and their groups, of whom Flux tells the uid alone, kept for a short while. This host's user database is asked through whatever it is
// made of (NSS): weft is linked statically and could read /etc/passwd and /etc/group alone, and a group that is missing could miss a deny.
type people struct {
	run func(ctx context.Context, args ...string) (string, error)

	mu    sync.Mutex
	known map[string]person // by what was looked for
}

type person struct {
	name   string
	uid    uint32
	gid    uint32
	groups []string
	until  time.Time
}

// Bounds of what is kept, and of the database's answer in bytes.
const (
	keepPerson = time.Minute
	maxKept    = 4096
	maxAnswer  = 1 << 20
	lastBreath = time.Second
)

// errNobody is a user whom this host does not know.
var errNobody = errors.New("this host knows no such user")

// of is the user of that uid; one whom this host does not know has neither name nor groups.
func (p *people) of(ctx context.Context, uid uint32) (person, error) {
	who, err := p.look(ctx, strconv.FormatUint(uint64(uid), 10))
	if errors.Is(err, errNobody) {
		return person{uid: uid, gid: core.NoUID}, nil
	}
	return who, err
}

// named is the user of that name.
func (p *people) named(ctx context.Context, name string) (person, error) {
	who, err := p.look(ctx, name)
	if errors.Is(err, errNobody) {
		return person{}, core.Errorf(core.SchedulerAway, "user %q: %w", core.Clip(name), err).WithRemedy("set `" + fieldUser + "` in the scheduler's block to the instance's owner")
	}
	return who, err
}

func (p *people) look(ctx context.Context, key string) (person, error) {
	now := time.Now()
	p.mu.Lock()
	who, kept := p.known[key]
	p.mu.Unlock()
	if kept && now.Before(who.until) {
		return who, nil
	}
	text, err := p.run(ctx, "/usr/bin/getent", "passwd", key)
	if err != nil && !errors.Is(err, errNobody) {
		return who, core.Errorf(core.SchedulerAway, "user %s: %w", core.Clip(key), err).WithRemedy("see whether this host's user database answers: `getent passwd " + core.Clip(key) + "`")
	}
	if err == nil {
		who, err = p.entry(ctx, text)
	}
	if err != nil {
		return who, err
	}
	who.until = now.Add(keepPerson)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxKept {
		p.known = map[string]person{}
	}
	p.known[key] = who
	return who, nil
}

// entry reads a line of passwd(5), and asks for the user's groups.
func (p *people) entry(ctx context.Context, text string) (person, error) {
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Split(line, ":")
	if len(f) < 4 {
		return person{}, core.Errorf(core.SchedulerAway, "getent: %q is no user's entry", core.Clip(line))
	}
	uid, err1 := strconv.ParseUint(f[2], 10, 32)
	gid, err2 := strconv.ParseUint(f[3], 10, 32)
	if err := errors.Join(err1, err2); err != nil || f[0] == "" {
		return person{}, core.Errorf(core.SchedulerAway, "getent: %q is no user's entry", core.Clip(line))
	}
	who := person{name: strings.ToValidUTF8(f[0], "?"), uid: uint32(uid), gid: uint32(gid)}
	names, err := p.run(ctx, "/usr/bin/id", "-Gnz", "--", f[0])
	if err != nil {
		return person{}, core.Errorf(core.SchedulerAway, "groups of user %q: %w", core.Clip(f[0]), err).WithRemedy("see whether this host's user database answers: `id " + core.Clip(f[0]) + "`")
	}
	for name := range strings.SplitSeq(names, "\x00") {
		if name != "" {
			who.groups = append(who.groups, strings.ToValidUTF8(name, "?"))
		}
	}
	slices.Sort(who.groups)
	who.groups = slices.Compact(who.groups)
	return who, nil
}

// command runs a program of the host's and gives its standard output.
func command(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the two above
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, "/", &out, &errs, lastBreath
	err := cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: it does not answer: %w", args[0], context.Cause(ctx))
	case ended && exit.ExitCode() == 2: // getent(1): no such entry
		return "", errNobody
	case err != nil:
		return "", fmt.Errorf("%s: %w: %s", args[0], err, core.OneLine(errs.String(), "it says nothing"))
	case out.Len() > maxAnswer:
		return "", fmt.Errorf("%s: it says more than %d bytes", args[0], maxAnswer)
	}
	return out.String(), nil
}
