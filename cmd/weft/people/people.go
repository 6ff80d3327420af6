// Package people asks this host's user database.
package people

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

// Database asks this host's user database through whatever it is made of (NSS): weft is linked statically and could read /etc/passwd and /etc/group alone, where
// most sites have root only.
type Database struct {
	run   func(ctx context.Context, args ...string) (string, error)
	slots chan struct{} // bounds how many questions there are at a time

	mu    sync.Mutex
	known map[membership]verdict
}

type membership struct {
	uid, gid uint32
	group    string
}

type verdict struct {
	is    bool
	until time.Time
}

// User is an entry of the database, with its groups.
type User struct {
	Name, Home string
	UID, GID   uint32
	Groups     []uint32
}

// Bounds of what is kept, how long one question may take, and of the answer in bytes.
const (
	keepMember  = time.Minute
	mostKept    = 4096
	mostAsked   = 4
	askPatience = 5 * time.Second
	mostAnswer  = 1 << 20
)

// ErrNobody is who or what the database does not have.
var ErrNobody = errors.New("the user database does not have it")

func New() *Database {
	return &Database{run: hostCommand, slots: make(chan struct{}, mostAsked), known: map[membership]verdict{}}
}

// Member says whether who calls belongs to the group. When the database does not answer, it does not.
func (p *Database) Member(ctx context.Context, peer core.Peer, group string) bool {
	key := membership{peer.UID, peer.GID, group}
	p.mu.Lock()
	v, ok := p.known[key]
	p.mu.Unlock()
	if ok && time.Now().Before(v.until) {
		return v.is
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return false
	}
	is, err := p.look(ctx, peer, group)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= mostKept {
		clear(p.known)
	}
	p.known[key] = verdict{is, time.Now().Add(keepMember)}
	return is
}

func (p *Database) look(ctx context.Context, peer core.Peer, group string) (bool, error) {
	text, err := p.run(ctx, "/usr/bin/getent", "group", "--", group)
	if errors.Is(err, ErrNobody) {
		return false, nil
	}
	f := strings.SplitN(text, ":", 4)
	if err != nil || len(f) < 3 || f[0] != group { // a number that is some group's is no name
		return false, err
	}
	gid, err := strconv.ParseUint(f[2], 10, 32)
	if err != nil {
		return false, err
	}
	if uint32(gid) == peer.GID {
		return true, nil
	}
	a, err := p.Account(ctx, strconv.FormatUint(uint64(peer.UID), 10))
	if errors.Is(err, ErrNobody) {
		return false, nil
	}
	return err == nil && a.UID == peer.UID && slices.Contains(a.Groups, uint32(gid)), err
}

// Account is a user with its groups, by name or uid.
func (p *Database) Account(ctx context.Context, key string) (User, error) {
	text, err := p.run(ctx, "/usr/bin/getent", "passwd", "--", key)
	if err != nil {
		return User{}, err
	}
	line, _, _ := strings.Cut(text, "\n")
	f := strings.Split(line, ":")
	if len(f) < 6 || f[0] == "" {
		return User{}, fmt.Errorf("getent: %q is no user's entry", core.Clip(line))
	}
	uid, err1 := strconv.ParseUint(f[2], 10, 32)
	gid, err2 := strconv.ParseUint(f[3], 10, 32)
	if errors.Join(err1, err2) != nil || uint32(uid) == core.NoUID {
		return User{}, fmt.Errorf("getent: %q is no user's entry", core.Clip(line))
	}
	a := User{Name: f[0], Home: f[5], UID: uint32(uid), GID: uint32(gid)}
	if text, err = p.run(ctx, "/usr/bin/id", "-Gz", "--", a.Name); err != nil {
		return User{}, err
	}
	for g := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		n, err := strconv.ParseUint(g, 10, 32)
		if err != nil {
			return User{}, fmt.Errorf("id: %q is no group's number", core.Clip(g))
		}
		a.Groups = append(a.Groups, uint32(n))
	}
	return a, nil
}

// hostCommand runs a program of the host's and gives its standard output.
func hostCommand(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // getent and id
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, "/", &out, &errs, time.Second
	err := cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: it does not answer: %w", args[0], context.Cause(ctx))
	case ended && exit.ExitCode() == 2: // getent(1): no such entry
		return "", ErrNobody
	case err != nil:
		return "", fmt.Errorf("%s: %w: %s", args[0], err, core.OneLine(errs.String(), "it says nothing"))
	case out.Len() > mostAnswer:
		return "", fmt.Errorf("%s: it says more than %d bytes", args[0], mostAnswer)
	}
	return out.String(), nil
}
