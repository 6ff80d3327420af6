package flux

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// object is the JSON of a question to a service.
type object = map[string]any

// link is the connection that calls about single jobs and nodes share, opened when it is needed.
type link struct {
	dial func(context.Context) (*broker.Conn, error)
	conn chan *broker.Conn // who has taken it may replace it; nil: it was never opened
}

func newLink(dial func(context.Context) (*broker.Conn, error)) *link {
	l := &link{dial: dial, conn: make(chan *broker.Conn, 1)}
	l.conn <- nil
	return l
}

// open is the connection, and whether it stood already.
func (l *link) open(ctx context.Context) (c *broker.Conn, stood bool, err error) {
	select {
	case c = <-l.conn:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	defer func() { l.conn <- c }()
	if c != nil && c.Err() == nil {
		return c, true, nil
	}
	c, err = l.dial(ctx)
	return c, false, err
}

// call asks a service. A connection that turns out to be over is opened anew once: whatever is asked can be asked twice.
func (l *link) call(ctx context.Context, topic string, node uint32, in, out any) error {
	for {
		c, stood, err := l.open(ctx)
		if err != nil {
			return err
		}
		if err = c.Call(ctx, topic, node, in, out); !stood || !errors.Is(err, broker.ErrClosed) {
			return err
		}
	}
}

func (l *link) close() {
	if c := <-l.conn; c != nil {
		c.Close()
	}
	l.conn <- nil
}

// dial connects to the broker of the block.
func (p *Plugin) dial(ctx context.Context) (*broker.Conn, error) {
	if p.settings.user == "" {
		return broker.Dial(ctx, p.settings.uri, nil)
	}
	who, err := p.people.User(ctx, p.settings.user)
	if errors.Is(err, people.ErrUnknown) {
		return nil, core.AsError(err).WithRemedy("set `" + fieldUser + "` in the scheduler's block to the instance's owner")
	}
	if err != nil {
		return nil, err
	}
	if int(who.UID) == syscall.Geteuid() {
		return broker.Dial(ctx, p.settings.uri, nil)
	}
	return broker.Dial(ctx, p.settings.uri, as(who.UID))
}

// as opens a socket with a user's credentials, which SO_PEERCRED shows for as long as it is open. They are those of one thread, which ends with it: no
// other part of the process is that user for a moment.
func as(uid uint32) broker.Dialer {
	return func(ctx context.Context, path string) (net.Conn, error) {
		type result struct {
			conn net.Conn
			err  error
		}
		done := make(chan result, 1)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread goes with the goroutine
			const keep = ^uintptr(0)
			if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); e != 0 {
				done <- result{err: core.Errorf(core.SchedulerAway, "uid %d: it cannot be used to connect to the broker: %w", uid, e).WithRemedy("run the daemon as root, or leave `" + fieldUser + "` out")}
				return
			}
			c, err := broker.Plain(ctx, path)
			done <- result{c, err}
		}()
		r := <-done
		return r.conn, r.err
	}
}

// away makes of a call's failure what a caller is told.
func (p *Plugin) away(what string, err error) error {
	if err == nil {
		return nil
	}
	var known *core.Error
	if errors.As(err, &known) {
		return err
	}
	e := core.Errorf(core.SchedulerAway, "%s: %w", what, err)
	_, plain := errors.AsType[*broker.Fault](err)
	switch {
	case errors.Is(err, syscall.EPERM):
		return e.WithRemedy("set `" + fieldUser + "` in the scheduler's block of config.hcl to the instance's owner, or allow-root-owner = true in [access] of Flux's configuration")
	case errors.Is(err, syscall.ENOSYS):
		return e.WithRemedy("wait until the Flux instance has started; `flux module list` shows what runs")
	case !plain:
		return e.WithRemedy("see whether a broker listens at " + strings.TrimPrefix(p.settings.uri, "local://") +
			", as `" + fieldURI + "` of the scheduler's block says, and whether it answers `flux uptime`")
	}
	return e
}

// isFault reports whether a service answered with that errno.
func isFault(err error, errno syscall.Errno) bool {
	f, ok := errors.AsType[*broker.Fault](err)
	return ok && f.Errno == errno
}
