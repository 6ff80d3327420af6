package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Following tells a standby about the store that it follows, and to which another server writes.
type Following struct {
	Leader string    // its name; empty: no server leads
	Head   core.Head // of the store as it was read
	Read   time.Time // when it was read last
}

// viewEvery is the least time between two views that a standby makes of a store.
const viewEvery = 2 * time.Second

// read answers looks, until ctx ends. A standby makes its machine of the store for a look.
func (s *Server) read(ctx context.Context) {
	var made time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case w := <-s.queue:
			if w.look == nil {
				continue
			}
			head := s.needs.Following().Head
			if time.Since(made) > viewEvery && (s.machine == nil || head != s.head) {
				if err := s.view(ctx); err != nil {
					s.machine = nil
					s.failure.Store(core.AsError(storeError(err)))
				}
				s.head, made = head, time.Now()
			}
			w.look(s.machine)
		}
	}
}

// view makes a machine of the store that never writes.
func (s *Server) view(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Commit)
	defer cancel()
	records, err := s.records(ctx)
	if err != nil {
		return err
	}
	alloc, err := s.needs.Allocator(s.needs.Config)
	if err != nil {
		return err
	}
	s.machine = engine.Follow(s.needs.Config, alloc, records, s.now())
	s.failure.Store(nil)
	return nil
}

// standby refuses what a server that does not lead cannot do; nil: this one leads.
func (s *Server) standby(verb string) error {
	if s.needs.Following == nil {
		return nil
	}
	e := core.Errorf(core.Standby, "%s: this server does not lead", verb)
	if leader := s.needs.Following().Leader; leader != "" {
		return e.WithRemedy("run it on " + leader + ", which leads")
	}
	return e.WithRemedy("no server leads now: `weft status` on each shows why")
}

// Handle is a listener.Handler.
func (d *Verbs) Handle(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	out, err := d.handle(ctx, peer, req)
	if d.Server.needs.Following == nil || err != nil || !slices.Contains(ofTheStore, req.Verb) {
		return out, err
	}
	page, ok := out.(listener.Page)
	if !ok {
		page.Body = out
	}
	f := d.Server.needs.Following()
	page.Note = fmt.Sprintf("this server does not lead, and read the store %s ago; which nodes are in contact is known "+
		"to the leader alone", time.Since(f.Read).Round(time.Millisecond))
	if f.Leader != "" {
		page.Note += ": " + f.Leader
	}
	return page, nil
}

// ofTheStore are the verbs that a standby answers from the store that it follows.
var ofTheStore = []string{"jobs", "job", "explain", "vnis", "nodes"}
