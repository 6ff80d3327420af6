package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// identity is who the command runs as; nil is the caller.
type identity struct {
	cred *syscall.Credential
	name string
	home string
}

// owner looks up the user that the command runs as; an empty name is the caller.
func owner(name string) (*identity, error) {
	if name == "" {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if _, ok := errors.AsType[user.UnknownUserError](err); err != nil && !ok {
		return nil, core.Errorf(core.BadCall, "user %q: %w", core.Clip(name), err).WithMend("see whether the user database answers: `getent passwd`")
	}
	if err != nil {
		return nil, core.Errorf(core.BadRequest, "user %q: there is no such user here", core.Clip(name)).WithMend("give the name of a user of this node")
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, core.Errorf(core.BadCall, "user %q: its groups: %w", core.Clip(name), err)
	}
	if os.Geteuid() != 0 {
		if u.Uid == strconv.Itoa(os.Geteuid()) {
			return nil, nil
		}
		return nil, core.Errorf(core.NotAllowed, "user %q: only root may run a command as another user", core.Clip(name)).WithMend("leave --user out, or be root")
	}
	number := func(s string) uint32 {
		n, _ := strconv.ParseUint(s, 10, 32)
		return uint32(n)
	}
	c := &syscall.Credential{Uid: number(u.Uid), Gid: number(u.Gid)}
	for _, g := range ids {
		c.Groups = append(c.Groups, number(g))
	}
	return &identity{c, u.Username, u.HomeDir}, nil
}

func (i *identity) credential() *syscall.Credential {
	if i == nil {
		return nil
	}
	return i.cred
}

// environ is env with the owner's own HOME, USER and LOGNAME: the caller's home is not the owner's to use.
func (i *identity) environ(env []string) []string {
	if i == nil {
		return env
	}
	var out []string
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); name != "HOME" && name != "USER" && name != "LOGNAME" {
			out = append(out, kv)
		}
	}
	return append(out, "HOME="+i.home, "USER="+i.name, "LOGNAME="+i.name)
}

// become makes this process the owner's, for the exec that follows.
func (i *identity) become() error {
	if i == nil {
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
