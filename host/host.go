package host

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host/cgroup"
)

// Options of a host.
type Options struct {
	Dir    string       // the run directory; a folder for each plugin's socket is made in Dir/plugins
	Log    *slog.Logger // nil: slog.Default
	Limits Limits
	Cgroup *cgroup.Tree // where each process gets a group of its own; nil: its memory is watched
	// Version is that of the values in the daemon, which are built with it; a program tells its own.
	Version string
}

// Host runs plugins.
type Host struct {
	dir     string
	log     *slog.Logger
	limits  Limits
	version string
	cgroup  *cgroup.Tree

	mu      sync.Mutex
	plugins map[string]*Plugin
	closed  bool
	news    chan struct{} // closed when a status has changed
}

// New is a host without plugins.
func New(o Options) (*Host, error) {
	h := &Host{
		log: o.Log, limits: core.OrDefault(o.Limits, DefaultLimits), version: o.Version, cgroup: o.Cgroup,
		plugins: map[string]*Plugin{}, news: make(chan struct{}),
	}
	if h.log == nil {
		h.log = slog.Default()
	}
	if !filepath.IsAbs(o.Dir) {
		return nil, core.Errorf(core.BadConfig, "run directory %q: it must be an absolute path", core.Clip(o.Dir))
	}
	h.dir = filepath.Join(o.Dir, "plugins")
	return h, nil
}

// Start starts a plugin and waits for its first start to be over. The error says how that went; where the plugin is not nil it stands all the same, is
// started again by itself unless its Status says Failed, and its facades can be used. A complaint about its block comes as it is, for config to show.
func (h *Host) Start(ctx context.Context, spec Spec) (*Plugin, error) {
	if err := core.CheckName("plugin", spec.Name, core.MaxScheduler); err != nil {
		return nil, err
	}
	if (spec.Value == nil) == (spec.Program.Path == "") {
		return nil, core.Errorf(core.InternalFault, "%s: it needs a program or a value, and not both", spec.title())
	}
	p := newPlugin(spec, h.limits, h.log, h.tell)
	p.begin = func(ctx context.Context) (*life, error) { return p.inside(ctx, h.version) }
	if spec.Value == nil {
		folder := filepath.Join(h.dir, folderName(spec.Kind, spec.Name))
		if err := checkSocketPath(folder); err != nil {
			return nil, err
		}
		p.begin = func(ctx context.Context) (*life, error) { return p.outside(ctx, folder, h.cgroup) }
	}
	h.mu.Lock()
	_, twice := h.plugins[spec.title()]
	if h.closed || twice {
		h.mu.Unlock()
		if twice {
			return nil, core.Errorf(core.BadConfig, "%s: there are two of it", spec.title())
		}
		return nil, p.away(Stopped, "")
	}
	h.plugins[spec.title()] = p
	h.mu.Unlock()
	first := make(chan error, 1)
	go p.run(first)
	select {
	case err := <-first:
		return p, err
	case <-ctx.Done():
		return p, core.Errorf(core.TimedOut, "%s: its start: %w", spec.title(), ctx.Err())
	}
}

// Plugin is the one of that kind and name; nil when there is none.
func (h *Host) Plugin(kind Kind, name string) *Plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plugins[Spec{Kind: kind, Name: name}.title()]
}

// States lists every plugin, by kind and name.
func (h *Host) States() []Status {
	var out []Status
	for _, p := range h.all() {
		out = append(out, p.Status())
	}
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func (h *Host) all() []*Plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.plugins))
}

// Watch tells States now and after each change, until ctx ends or tell returns an error. Changes that come while tell runs are told together.
func (h *Host) Watch(ctx context.Context, tell func([]Status) error) error {
	for {
		h.mu.Lock()
		news := h.news
		h.mu.Unlock()
		if err := tell(h.States()); err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *Host) tell(Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.news)
	h.news = make(chan struct{})
}

// Close stops every plugin, all at the same time, and waits until their processes are gone or ctx ends.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	all := h.all()
	for _, p := range all {
		p.halt()
	}
	for _, p := range all {
		select {
		case <-p.over:
		case <-ctx.Done():
			return core.Errorf(core.TimedOut, "%s: its process does not die: %w", p.spec.title(), ctx.Err())
		}
	}
	return nil
}
