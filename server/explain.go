package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Facts are what a reservation was decided on, so that it can be decided again. What only its owner and operators may see is empty for others.
type Facts struct {
	JobRow
	Policy  string    `json:"policy,omitempty"`  // hash of the policy that granted it
	Current bool      `json:"current,omitempty"` // it is the one in force
	Text    string    `json:"text,omitempty"`    // its files, as one text
	Facts   *core.Job `json:"facts,omitempty"`
	Nodes   int       `json:"system_nodes,omitempty"` // that config.hcl declares now
	Now     int64     `json:"now,omitempty"`          // when it was decided, in Unix seconds
	Spread  int       `json:"spread,omitempty"`       // over how many groups of its topology the job is, as config.hcl is now
}

func (d *Verbs) explain(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args JobArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	all := peer.Root() || d.Admin(ctx, peer)
	var out []Facts
	var system engine.System
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		system = m.System()
		for _, v := range d.find(m, args) {
			row := Facts{JobRow: jobRow(v)}
			if all || v.Job.UID == peer.UID && !v.Unknown {
				row.Facts, row.Nodes = &v.Job, system.Nodes
				row.Now = v.Grant.Now
				row.Policy, row.Text, row.Current = v.Grant.Policy, m.Text(v.Grant.Policy), v.Grant.Policy == m.Policy()
			}
			out = append(out, row)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0:
		return nil, notHeld(args)
	}
	for i, row := range out {
		if row.Facts != nil {
			out[i].Spread = system.Topology.Spread(*row.Facts)
		}
	}
	slices.SortFunc(out, func(a, b Facts) int { return cmp.Compare(a.Serial, b.Serial) })
	var rows []factsPart
	for _, f := range out {
		rows = append(rows, f.parts()...)
	}
	return listener.Slice(req, rows, func(r factsPart) string { return fmt.Sprintf(partKey, r.Serial, r.at) })
}

// maxText bounds the policy's text in one part, in bytes: JSON may make six of one.
const maxText = 64 << 10

// factsPart is a row of a job's facts: the first, or one of those behind it.
type factsPart struct {
	Facts
	at int
}

// parts are rows that JoinedFacts makes f of again. Those behind the first have only more of its text and placements.
func (f Facts) parts() (all []factsPart) {
	text := f.Text
	var places []core.Placement
	if f.Facts != nil {
		job := *f.Facts
		f.Facts, places = &job, job.Placements
	}
	for {
		if f.Facts != nil {
			f.Facts.Placements, places = cut(places)
		}
		n := min(len(text), maxText)
		for n < len(text) && n > maxText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		f.Text, text = text[:n], text[n:]
		all = append(all, factsPart{f, len(all)})
		if len(text)+len(places) == 0 {
			return all
		}
		f = Facts{JobRow: JobRow{Serial: f.Serial}, Facts: &core.Job{}}
	}
}

// JoinedFacts puts the parts of each reservation together.
func JoinedFacts(rows []Facts) (all []Facts) {
	for _, r := range rows {
		last := len(all) - 1
		if last < 0 || all[last].Serial != r.Serial {
			all = append(all, r)
			continue
		}
		f := &all[last]
		f.Text += r.Text
		f.Facts.Placements = append(f.Facts.Placements, r.Facts.Placements...)
	}
	return all
}
