package compare

import (
	"cmp"
	"slices"

	"github.com/weft-hpc/weft/policy"
)

// Examples is how many jobs a Group names.
const Examples = 3

// Group is the jobs for which one block changes one attribute.
type Group struct {
	What string       `json:"what"` // the attribute; decision, where a grant becomes a refusal or the other way round
	In   string       `json:"in"`   // old or new: the policy that has By; old: it does not count any more
	By   policy.Place `json:"by"`   // what changes it
	Jobs int          `json:"jobs"`
	Some []Change     `json:"some"` // the first of them
	key  string
}

// Change is what one job gets, and would get.
type Change struct {
	Job string `json:"job"`
	Old string `json:"old"`
	New string `json:"new"`
}

// groups are those that were found, by key.
type groups map[string]*Group

// of is the group of a difference of one job; a new one where there was none.
func (g groups) of(d Group) *Group {
	if g[d.key] == nil {
		g[d.key] = &Group{What: d.What, In: d.In, By: d.By, key: d.key}
	}
	return g[d.key]
}

// add counts a job; the first are kept.
func (g *Group) add(c Change) {
	g.Jobs++
	if len(g.Some) < Examples {
		g.Some = append(g.Some, c)
	}
}

// sorted are copies, the largest first. It is never nil.
func (g groups) sorted() []Group {
	out := make([]Group, 0, len(g))
	for _, one := range g {
		group := *one
		group.Some = slices.Clone(one.Some)
		out = append(out, group)
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.key, b.key)) })
	return out
}
