package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
)

// Reloaded is what a reload did, or why it did nothing. The old stays in force whole when anything of the new is wrong.
type Reloaded struct {
	Changed  []string          `json:"changed"`
	Findings []hclfile.Finding `json:"findings,omitempty"`
	Refused  bool              `json:"refused,omitempty"`
}

// verbReload is `weft reload`.
const verbReload = "reload"

// reloader puts config.hcl and policy in force while a daemon runs.
type reloader struct {
	of      config.Daemon
	log     *slog.Logger
	audit   *slog.Logger
	certs   *identity.Source // nil: the daemon has none
	plugins *host.Host
	blocks  blocks
	site    atomic.Pointer[Site]
	one     sync.Mutex                     // reload at a time
	refusal atomic.Pointer[server.Refusal] // the last reload was refused; nil: it was not
	reopen  func()                         // the daemon's log files, which may have been renamed
	// accept puts in force what is the daemon's own, or nothing of it.
	accept func(ctx context.Context, old, site *Site) (changed []string, findings []hclfile.Finding, err error)
	// taken hears of each reload that is in force, and says what that changed besides; nil: nobody does
	taken func() (changed []string)
}

func (r *reloader) sizes() map[string]int { return r.site.Load().Sizes() }

func (r *reloader) expiry() time.Time {
	if r.certs == nil {
		return time.Time{}
	}
	return r.certs.Expiry()
}

// refused is the last reload, where what it read was refused.
func (r *reloader) refused() *server.Refusal { return r.refusal.Load() }

// reload reads the files again, and puts them in force when nothing is wrong with them and the policy's tests pass.
func (r *reloader) reload(ctx context.Context) (Reloaded, error) {
	r.one.Lock()
	defer r.one.Unlock()
	done, err := r.take(ctx)
	switch {
	case err != nil:
		r.log.Error("the reload failed; the old configuration stays in force", core.LogError, err)
		r.refusal.Store(&server.Refusal{At: time.Now(), Why: err.Error()})
	case done.Refused:
		why := hclfile.AsError(done.Findings)
		r.log.Error("the reload was refused; the old configuration stays in force", core.LogError, why)
		r.refusal.Store(&server.Refusal{At: time.Now(), Why: why.Error()})
	default:
		r.refusal.Store(nil)
	}
	return done, err
}

func (r *reloader) take(ctx context.Context) (Reloaded, error) {
	if r.reopen != nil {
		r.reopen()
	}
	old := r.site.Load()
	site, findings := Read(old.Config.File, 0)
	if site == nil {
		return Reloaded{Findings: findings, Refused: true}, nil
	}
	if failed := Try(site.Policy, Env(site.Config), site.Tests); hclfile.Failed(failed) {
		return refused(findings, failed), nil
	}
	out := Reloaded{Findings: findings, Changed: []string{}}
	for _, d := range config.Diff(r.of, old.Config, site.Config) {
		out.Changed = append(out.Changed, d.String())
	}
	site.Config = config.InForce(r.of, old.Config, site.Config)
	anew := config.Reconfigured(old.Config.Schedulers, site.Config.Schedulers)
	if r.of == config.OfAgent {
		anew = append(anew, config.Reconfigured(old.Config.Drivers, site.Config.Drivers)...)
	}
	undo, complaints, err := r.blocks.reconfigure(ctx, r.plugins, anew)
	if err != nil || complaints != nil {
		return refused(findings, complaints), err
	}
	more, complaints, err := r.accept(ctx, old, site)
	if err != nil || complaints != nil {
		undo()
		return refused(findings, complaints), err
	}
	out.Changed = append(out.Changed, more...)
	r.site.Store(site)
	if r.taken != nil {
		out.Changed = append(out.Changed, r.taken()...)
	}
	return out, nil
}

func refused(findings, complaints []hclfile.Finding) Reloaded {
	return Reloaded{Findings: hclfile.Sort(append(findings, complaints...)), Refused: true}
}

// acceptor puts in force what is a server's own.
func acceptor(srv *server.Server) func(ctx context.Context, old, site *Site) ([]string, []hclfile.Finding, error) {
	return func(ctx context.Context, old, site *Site) (changed []string, _ []hclfile.Finding, _ error) {
		if old.Engine.Policy.Hash != site.Engine.Policy.Hash {
			changed = append(changed, fmt.Sprintf("policy files: in force now, as %.12s", site.Engine.Policy.Hash))
		}
		// The schedulers of the start stay until a restart: no adapter was started for others.
		site.Engine.Schedulers = old.Engine.Schedulers
		if site.Config.Server.Listen != "" {
			limitMemory(len(site.Nodes))
		}
		return changed, nil, srv.Reload(ctx, server.Change{
			Config: site.Engine, Policy: site.Policy, Allocator: site.allocator, Resize: func(a engine.Allocator) error {
				in, ok := a.(*allocator.Allocator)
				if !ok {
					return core.Errorf(core.NotSupported, "reload: the allocator in use cannot be resized")
				}
				return in.Resize(site.Pools)
			},
		})
	}
}

// verb is `weft reload`.
func (r *reloader) verb(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	done, err := r.reload(ctx)
	attrs := []any{core.LogUID, peer.UID, core.LogPID, peer.PID, core.LogCall, req.ID}
	switch {
	case err != nil:
		attrs = append(attrs, core.LogReason, string(core.AsError(err).Reason), core.LogError, err.Error())
	case done.Refused:
		attrs = append(attrs, core.LogReason, string(core.BadConfig), core.LogError, hclfile.AsError(done.Findings))
	default:
		attrs = append(attrs, core.LogWhy, cmp.Or(strings.Join(done.Changed, "; "), "nothing is different"))
	}
	r.audit.Info(verbReload, attrs...)
	return done, err
}

// hear reloads whenever it is asked to, and tells the log what changed.
func (r *reloader) hear(ctx context.Context, ask <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ask:
		}
		if done, err := r.reload(ctx); err == nil && !done.Refused {
			r.log.Info("reloaded: " + cmp.Or(strings.Join(done.Changed, "; "), "nothing is different"))
		}
	}
}
