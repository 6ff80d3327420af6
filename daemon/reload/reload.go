// Package reload puts a changed config.hcl and policy in force while a daemon runs, whole or not at all.
package reload

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/audit"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
)

// Outcome is what a reload did, or why it did nothing. The old stays in force whole when anything of the new is wrong.
type Outcome struct {
	Changed  []string          `json:"changed"`
	Findings []hclfile.Finding `json:"findings,omitempty"`
	Refused  bool              `json:"refused,omitempty"`

	before, now Hashes // where it was not refused
}

const Verb = "reload"

// PolicyPrefix begins what a reload says of the policy files.
const PolicyPrefix = "policy files: "

// Reloader puts config.hcl and policy in force while a daemon runs.
type Reloader struct {
	Of      config.Daemon
	Log     *slog.Logger
	Audit   *audit.Log
	Kept    string           // file in the run directory with the Hashes in force
	Certs   *identity.Source // nil: the daemon has none
	Plugins *host.Host
	Blocks  plugin.Blocks
	site    atomic.Pointer[settings.Site]
	one     sync.Mutex                     // reload at a time
	refusal atomic.Pointer[server.Refusal] // the last reload was refused; nil: it was not
	// Accept puts in force what is the daemon's own, or nothing of it.
	Accept func(ctx context.Context, old, site *settings.Site) (changed []string, findings []hclfile.Finding, err error)
	// Taken is called after each reload that is in force, and says what else that changed; nil: nobody is
	Taken func() (changed []string)
}

func New(site *settings.Site, of config.Daemon, dir string, plugins *host.Host, log *slog.Logger, to *audit.Log) *Reloader {
	r := &Reloader{Of: of, Log: log, Audit: to, Plugins: plugins, Kept: filepath.Join(dir, "in-force.json")}
	r.site.Store(site)
	return r
}

// Site is what is in force.
func (r *Reloader) Site() *settings.Site { return r.site.Load() }

// Sizes are how many VNIs each pool has.
func (r *Reloader) Sizes() map[string]int { return r.Site().Sizes() }

// Expiry is when the daemon's certificate ends; zero: it has none.
func (r *Reloader) Expiry() time.Time {
	if r.Certs == nil {
		return time.Time{}
	}
	return r.Certs.Expiry()
}

// Refused is the last reload, where what it read was refused.
func (r *Reloader) Refused() *server.Refusal { return r.refusal.Load() }

// reload reads the files again, and puts them in force when nothing is wrong with them and the policy's tests pass.
func (r *Reloader) reload(ctx context.Context) (Outcome, error) {
	r.one.Lock()
	defer r.one.Unlock()
	done, err := r.take(ctx)
	switch {
	case err != nil:
		r.Log.Error("the reload failed; the old configuration stays in force", core.LogError, err)
		r.refusal.Store(&server.Refusal{At: time.Now(), Why: err.Error()})
	case done.Refused:
		why := hclfile.AsError(done.Findings)
		r.Log.Error("the reload was refused; the old configuration stays in force", core.LogError, why)
		r.refusal.Store(&server.Refusal{At: time.Now(), Why: why.Error()})
	default:
		r.refusal.Store(nil)
	}
	return done, err
}

func (r *Reloader) take(ctx context.Context) (Outcome, error) {
	old := r.Site()
	site, findings := settings.Read(old.Config.File, 0)
	if site == nil {
		return Outcome{Findings: findings, Refused: true}, nil
	}
	if bad := site.Distrusted(r.Of); bad != nil {
		return refused(findings, bad), nil
	}
	if failed := settings.Try(site.Policy, settings.Env(site.Config), site.Tests); hclfile.Failed(failed) {
		return refused(findings, failed), nil
	}
	out := Outcome{Findings: findings, Changed: append([]string{}, config.Diff(r.Of, old.Config, site.Config)...)}
	site.Config = config.InForce(r.Of, old.Config, site.Config)
	anew := config.Reconfigured(old.Config.Schedulers, site.Config.Schedulers)
	if r.Of == config.OfAgent {
		anew = append(anew, config.Reconfigured(old.Config.Drivers, site.Config.Drivers)...)
	}
	undo, complaints, err := r.Blocks.Reconfigure(ctx, r.Plugins, anew)
	if err != nil || complaints != nil {
		return refused(findings, complaints), err
	}
	more, complaints, err := r.Accept(ctx, old, site)
	if err != nil || complaints != nil {
		return refused(findings, append(complaints, undo()...)), err
	}
	out.before, out.now = hashesOf(old), hashesOf(site)
	if out.before.Policy != out.now.Policy {
		out.Changed = append(out.Changed, fmt.Sprintf(PolicyPrefix+"in force now, as %.12s", out.now.Policy))
	}
	out.Changed = append(out.Changed, more...)
	r.site.Store(site)
	r.keep(out.now)
	if r.Taken != nil {
		out.Changed = append(out.Changed, r.Taken()...)
	}
	return out, nil
}

func refused(findings, complaints []hclfile.Finding) Outcome {
	return Outcome{Findings: hclfile.Sort(append(findings, complaints...)), Refused: true}
}

func (r *Reloader) Answer(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	done, err := r.reload(ctx)
	attrs := peer.Audited(req.ID, req.Right)
	switch {
	case err != nil:
		attrs = append(attrs, core.LogReason, string(core.AsError(err).Reason), core.LogError, err.Error())
	case done.Refused:
		attrs = append(attrs, core.LogReason, string(core.BadConfig), core.LogError, hclfile.AsError(done.Findings))
	default:
		attrs = append(audited(attrs, done.before, done.now), core.LogWhy, cmp.Or(strings.Join(done.Changed, "; "), "nothing is different"))
	}
	r.Audit.Info(Verb, attrs...)
	return done, err
}

// Examined is settings.Examined of an agent that runs: its plugins and its files are looked at too.
func (r *Reloader) Examined() agent.Site {
	checks := map[string]core.Checker{"files": settings.Files{Site: r.Site, Of: r.Of}}
	site := r.Site()
	for kind, blocks := range map[host.Kind][]config.Plugin{host.Driver: site.Config.Drivers, host.Scheduler: site.Config.Schedulers} {
		for _, p := range blocks {
			if running := r.Plugins.Plugin(kind, p.Name); running != nil {
				checks[string(kind)+" "+p.Name] = running.Checker()
			}
		}
	}
	return settings.Examined(r.Site, checks)
}
