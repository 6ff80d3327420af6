package daemon

import (
	"context"
	"net"
	"os"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/daemon/election"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/server"
)

// openElection opens the store that several servers share.
func (d *serverDaemon) openElection(ctx context.Context) (err error) {
	name := d.config.Name
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return core.Errorf(core.BadConfig, "server: name: %w", err).WithRemedy("give it one with `name` in config.hcl")
		}
	}
	system := ""
	if d.config.Listen != "" {
		if system, err = identity.Authority(d.config.TLS); err != nil {
			return err
		}
	}
	d.several, err = election.Open(ctx, *d.config.Etcd, system, name, reachable(name, d.config.Listen), d.Log)
	if err != nil {
		return err
	}
	d.later(d.several.Close)
	d.store = d.several.Store()
	return d.ours()
}

// reachable is an address for people: a server that listens on every address of its host is reached by its name.
func reachable(name, listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return listen
	}
	return net.JoinHostPort(name, port)
}

// ours refuses a store in which every node is of another system: its servers have the same prefix.
func (d *serverDaemon) ours() error {
	nodes := d.several.Store().Nodes()
	if len(nodes) == 0 || len(d.site.Nodes) == 0 {
		return nil
	}
	for _, n := range nodes {
		if slices.Contains(d.site.Nodes, n) {
			return nil
		}
	}
	slices.Sort(nodes)
	return core.Errorf(core.BadConfig, "store: etcd prefix %q: it is of another system, with the nodes %s",
		d.config.Etcd.Prefix, core.Clip(hostlist.Fold(nodes))).
		WithRemedy("give each system another `prefix` of `etcd` in config.hcl; see `nodes` there, too")
}

// follow has a server answer that only reads what the leader wrote.
func (d *serverDaemon) follow(ctx context.Context) error {
	d.later(func() error { d.endStandby(); return nil })
	d.take = func(ctx context.Context, old, site *settings.Site) ([]string, []hclfile.Finding, error) {
		sameAdapters(old, site)
		return nil, nil, d.followWith(ctx, site)
	}
	return d.followWith(ctx, d.live.Site())
}

func (d *serverDaemon) followWith(ctx context.Context, site *settings.Site) error {
	needs := d.needs(site)
	needs.Following = func() server.Following {
		s := d.several.State()
		return server.Following{Leader: s.Leader.Name, Head: s.Head, Read: s.Read}
	}
	srv, err := server.New(ctx, needs)
	if err != nil {
		return err
	}
	d.endStandby()
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() { // until a leader's takes its place, or the daemon ends
		defer close(over)
		_ = srv.Run(ctx)
	}()
	d.standby = func() { end(); <-over }
	d.answerWith(srv, false)
	return nil
}

// endStandby ends the server that only reads, where there is one.
func (d *serverDaemon) endStandby() {
	if d.standby != nil {
		d.standby()
	}
	d.standby = nil
}

// succeed waits until this server leads, and has it work then. When it leads no longer, the daemon ends, since only a
// new start reads all that was written meanwhile.
func (d *serverDaemon) succeed(ctx context.Context, t *tasks) error {
	lease, err := d.several.Win(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	d.later(func() error { // after the server has ended, another may lead at once
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = lease.Resign(ctx)
		return nil
	})
	t.need(func(ctx context.Context) error {
		err := lease.Keep(ctx)
		if err != nil {
			term := d.several.State().Began.Epoch
			d.audit.Logger.Info("lead-over", core.LogServer, lease.Name, core.LogTerm, term, core.LogError, err.Error())
		}
		return err
	})
	d.turn.Lock()
	defer d.turn.Unlock()
	if err := d.ours(); err != nil {
		return err
	}
	d.newest, d.leads = d.several.Store().Witness(), func() bool { return lease.Left() > 0 }
	if err := d.makeServer(ctx); err != nil {
		return err
	}
	d.work(t)
	d.endStandby()
	var head core.Head
	if err := d.now.Load().Look(ctx, func(m *engine.Machine) { head = m.Head() }); err != nil {
		return err
	}
	d.several.Leads(lease, head)
	t.run(d.several.Compact)
	d.Log.Info("this server leads", core.LogTerm, head.Epoch, core.LogWitness, d.newest.Revision)
	d.audit.Logger.Info("lead", core.LogServer, lease.Name, core.LogTerm, head.Epoch, core.LogWitness, d.newest.Revision)
	return nil
}

// election is the row of `weft status` about several servers.
func (d *serverDaemon) election() *server.ServersRow {
	s := d.several.State()
	row := &server.ServersRow{Name: d.several.Name(), Leads: s.Leads}
	for _, m := range d.several.Members() {
		leads := s.Leader.Term != 0 && m.Name == s.Leader.Name && m.Address == s.Leader.Address
		if m.Leads && !leads { // it has ended since, or is about to
			continue
		}
		row.Members = append(row.Members, server.MemberRow{
			Name: m.Name, Address: m.Address, Version: m.Version, Leads: leads, Warm: m.Warm, Behind: uint64(m.Lag),
		})
	}
	if m := d.several.Twin(); m.Name != "" {
		row.Twin = m.Host + " (" + m.Address + ")"
	}
	for _, m := range d.several.Etcd() {
		row.Etcd = append(row.Etcd, server.EtcdRow(m))
	}
	if s.Leader.Term != 0 {
		row.Leader, row.At, row.Since = s.Leader.Name, s.Leader.Address, s.Leader.Since
	}
	if !s.Leads {
		row.Warm = d.several.Store().Witness().Store != ""
		row.Age = time.Since(s.Read).Round(time.Millisecond).String()
	}
	if s.Fault != nil {
		row.Fault = s.Fault.Line()
	}
	return row
}

// authority answers agents: with the server, where it leads.
func (d *serverDaemon) authority() core.Authority {
	if d.several == nil {
		return d.now.Load().Server
	}
	return oneOfSeveral{d}
}

type oneOfSeveral struct{ d *serverDaemon }

func (o oneOfSeveral) leads() (*server.Server, error) {
	now := o.d.now.Load()
	if now.leads {
		return now.Server, nil
	}
	s := o.d.several.State()
	if s.Leader.Term == 0 {
		return nil, core.Errorf(core.ServerAway, "server %s: no server leads", o.d.several.Name())
	}
	who := core.Clip(s.Leader.Name)
	return nil, core.Errorf(core.ServerAway, "server %s: it does not lead; %s does", o.d.several.Name(), who)
}

func (o oneOfSeveral) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	srv, err := o.leads()
	if err != nil {
		return core.Grant{}, err
	}
	return srv.Reserve(ctx, node, ask, peer)
}

func (o oneOfSeveral) Attend(
	ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders),
) error {
	srv, err := o.leads()
	if err != nil {
		return err
	}
	return srv.Attend(ctx, node, first, next, told)
}

// Await implements core.Succession.
func (o oneOfSeveral) Await(ctx context.Context, _ string, seen core.Head) (core.Head, error) {
	return o.d.several.Await(ctx, seen)
}

// figuresOfSeveral are the numbers of several servers; nil: there is one.
func (d *serverDaemon) figuresOfSeveral() func() metrics.Several {
	if d.several == nil {
		return nil
	}
	return func() metrics.Several {
		s := d.several.State()
		m := metrics.Several{
			Leads: s.Leads, Leader: s.Leader.Term != 0, Changes: s.Terms, Etcd: map[string]int64{},
			Warm: s.Leads || d.several.Store().Witness().Store != "",
		}
		if !s.Leads {
			m.Age = time.Since(s.Read)
		}
		for _, e := range d.several.Etcd() {
			m.Etcd[e.Endpoint] = e.Bytes
			if e.Fault != "" {
				m.Etcd[e.Endpoint] = -1
			}
		}
		return m
	}
}
