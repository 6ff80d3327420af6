package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
)

// identity is who the command runs as; the zero value is the caller.
type identity struct {
	cred *syscall.Credential
	name string
	home string
}

// owner looks up the user that the command runs as; an empty name is the caller.
func owner(ctx context.Context, name string) (identity, error) {
	if name == "" {
		return identity{}, nil
	}
	users := people.New(nil)
	a, err := users.User(ctx, name)
	if errors.Is(err, people.ErrUnknown) {
		return identity{}, core.Errorf(core.BadRequest, "user %q: there is no such user here", core.Clip(name)).WithRemedy("give the name of a user of this node")
	}
	if err != nil {
		return identity{}, err
	}
	if os.Geteuid() != 0 {
		if int64(a.UID) == int64(os.Geteuid()) {
			return identity{}, nil
		}
		return identity{}, core.Errorf(core.NotAllowed, "user %q: only root may run a command as another user", core.Clip(name)).WithRemedy("leave --user out, or be root")
	}
	groups, err := users.GIDs(ctx, a)
	return identity{&syscall.Credential{Uid: a.UID, Gid: a.GID, Groups: groups}, a.Name, a.Home}, err
}

// environ is env with the owner's own HOME, USER and LOGNAME: the caller's home is not the owner's to use.
func (i identity) environ(env []string) []string {
	if i.cred == nil {
		return env
	}
	env = without(env, map[string]bool{"HOME": true, "USER": true, "LOGNAME": true})
	return append(env, "HOME="+i.home, "USER="+i.name, "LOGNAME="+i.name)
}

// become makes this process the owner's, for the exec that follows.
func (i identity) become() error {
	if i.cred == nil {
		return nil
	}
	groups := make([]int, len(i.cred.Groups))
	for k, g := range i.cred.Groups {
		groups[k] = int(g)
	}
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("user: groups: %w", err)
	}
	if err := syscall.Setgid(int(i.cred.Gid)); err != nil {
		return fmt.Errorf("user: gid: %w", err)
	}
	if err := syscall.Setuid(int(i.cred.Uid)); err != nil {
		return fmt.Errorf("user: uid: %w", err)
	}
	return nil
}
