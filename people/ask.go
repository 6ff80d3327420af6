package people

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// notFound is getent's exit code for a key that it does not find.
const notFound = 2

// ask runs a program for no longer than Patience.
func (d *Database) ask(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	text, err := d.run(ctx, name, args...)
	f, failed := errors.AsType[*command.Failure](err)
	switch {
	case failed && name == "getent" && f.Code == notFound:
		return "", ErrUnknown
	case err == nil && len(text) > maxAnswer:
		return "", fmt.Errorf("%s: it says more than %d bytes", name, maxAnswer)
	}
	return string(text), err
}

// entry asks for one entry and gives its fields, at least least of them. It refuses a key that cannot be a name,
// because getent or id could take it for a number or for an option.
func (d *Database) entry(ctx context.Context, database, key string, least int) ([]string, error) {
	if key == "" || strings.IndexByte("+- \t\v\f\r", key[0]) >= 0 || strings.ContainsAny(key, ":\x00\n") {
		return nil, ErrUnknown
	}
	text, err := d.ask(ctx, "getent", database, "--", key)
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Split(strings.ToValidUTF8(line, "?"), ":")
	if len(fields) < least || fields[0] == "" {
		return nil, fmt.Errorf("getent: %q is no entry of %s", core.Clip(line), database)
	}
	return fields, nil
}

func (d *Database) user(ctx context.Context, key string) (User, error) {
	return d.users.ask(d.now(), key, func() (User, error) {
		f, err := d.entry(ctx, "passwd", key, 6) // NAME:x:UID:GID:GECOS:HOME
		if err != nil {
			return User{}, away("user", key, err)
		}
		uid, err1 := strconv.ParseUint(f[2], 10, 32)
		gid, err2 := strconv.ParseUint(f[3], 10, 32)
		if err := errors.Join(err1, err2); err != nil || uint32(uid) == core.NoUID {
			err = fmt.Errorf("getent: uid %q, gid %q: no user has them", core.Clip(f[2]), core.Clip(f[3]))
			return User{}, away("user", key, err)
		}
		return User{Name: f[0], Home: f[5], UID: uint32(uid), GID: uint32(gid)}, nil
	})
}

func (d *Database) group(ctx context.Context, key string) (Group, error) {
	return d.groups.ask(d.now(), key, func() (Group, error) {
		f, err := d.entry(ctx, "group", key, 3) // NAME:x:GID:MEMBERS
		if err != nil {
			return Group{}, away("group", key, err)
		}
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			return Group{}, away("group", key, fmt.Errorf("getent: gid %q: no group has it", core.Clip(f[2])))
		}
		return Group{Name: f[0], GID: uint32(gid)}, nil
	})
}

// id asks for a user's groups, by name (-Gnz) or number (-Gz). Every user has one at least.
func (d *Database) id(ctx context.Context, flag string, u User) ([]string, error) {
	return d.ids.ask(d.now(), flag+" "+u.Name, func() ([]string, error) {
		text, err := d.ask(ctx, "id", flag, "--", u.Name)
		list, whole := strings.CutSuffix(strings.ToValidUTF8(text, "?"), "\x00")
		groups := strings.Split(list, "\x00")
		if err == nil && (!whole || slices.Contains(groups, "")) {
			err = fmt.Errorf("id: %q is no list of groups", core.Clip(text))
		}
		if err != nil {
			return nil, away("groups of user", u.Name, err)
		}
		return groups, nil
	})
}

// away is the error for a user or a group without an answer.
func away(what, key string, err error) error {
	return core.Errorf(core.SchedulerAway, "%s %q: %w", what, core.Clip(key), err).WithRemedy(remedy)
}

const remedy = "see whether this host's user database answers: `getent passwd USER`, `id USER`"

func digits(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

func isNumber(name string) bool { return strings.Trim(name, "0123456789") == "" }
