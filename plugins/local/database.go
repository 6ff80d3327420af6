package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// This node's user database is asked through whatever it is made of (NSS): weft is linked statically and could read /etc/passwd and /etc/group alone, and a
// group that is missing could miss a deny. What those two hold costs no process.

const (
	maxAnswer  = 1 << 20 // of the database, in bytes
	lastBreath = time.Second
	getent     = "/usr/bin/getent"
)

// errNobody is who or what the database does not have.
var errNobody = errors.New("the user database does not have it")

func away(what string, err error) error {
	return core.Errorf(core.SchedulerAway, "%s: %w", what, err).WithRemedy("see whether the node's user database answers: `getent passwd`")
}

// entry is a user's line of passwd(5), by name or uid, without groups.
func (d directory) entry(ctx context.Context, key string) (identity, error) {
	text, err := d.run(ctx, getent, "passwd", "--", key)
	if err != nil {
		return identity{}, err
	}
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Split(line, ":")
	if len(f) < 4 || f[0] == "" {
		return identity{}, fmt.Errorf("getent: %q is no user's entry", core.Clip(line))
	}
	uid, err1 := strconv.ParseUint(f[2], 10, 32)
	gid, err2 := strconv.ParseUint(f[3], 10, 32)
	if errors.Join(err1, err2) != nil {
		return identity{}, fmt.Errorf("getent: %q is no user's entry", core.Clip(line))
	}
	return identity{uid: uint32(uid), gid: uint32(gid), user: strings.ToValidUTF8(f[0], "?")}, nil
}

// groupNames are groups' names, or the numbers of those that have none.
func (d directory) groupNames(ctx context.Context, gids []uint32) ([]string, error) {
	var names []string
	for _, g := range gids {
		gid := strconv.FormatUint(uint64(g), 10)
		if g, err := user.LookupGroupId(gid); err == nil {
			names = append(names, g.Name)
			continue
		}
		text, err := d.run(ctx, getent, "group", "--", gid)
		name, _, whole := strings.Cut(text, ":")
		switch {
		case errors.Is(err, errNobody):
			name = gid
		case err != nil:
			return nil, away("group "+gid, err)
		case !whole || name == "":
			return nil, away("group "+gid, fmt.Errorf("getent: %q is no group's entry", core.Clip(text)))
		}
		names = append(names, strings.ToValidUTF8(name, "?"))
	}
	return unique(names), nil
}

// command runs a program of the host's and gives its standard output.
func command(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // getent and id
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
