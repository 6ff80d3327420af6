package engine

import (
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// Fit says how much of a node's NICs a job got. It lies in memory only: nodes report it again to each new server.
type Fit struct {
	NICs     []NICFit
	Warnings []string // how this differs from the grant
}

// NICFit holds the limits of the job's service on each NIC of a hostlist.
type NICFit struct {
	NICs   string
	Limits core.Limits
}

// maxWarnings bounds those of a node. A run has about one for each resource.
const maxWarnings = 32

func fitOf(h core.Held) *Fit {
	f := &Fit{Warnings: h.Warnings[:min(len(h.Warnings), maxWarnings)]}
	var limits []core.Limits
	nics := map[core.Limits][]string{}
	for i := range h.Services {
		s := &h.Services[i]
		if nics[s.Limits] == nil {
			limits = append(limits, s.Limits)
		}
		nics[s.Limits] = append(nics[s.Limits], s.Device)
	}
	for _, l := range limits {
		slices.SortFunc(nics[l], hostlist.Compare)
		f.NICs = append(f.NICs, NICFit{hostlist.Fold(nics[l]), l})
	}
	return f
}

// fitted keeps a node's Fit. Nodes with equal ones share it, since a job may have thousands of nodes.
func (j *join) fitted(h core.Held) {
	f, last := fitOf(h), j.of.fit
	if last == nil || !slices.Equal(f.NICs, last.NICs) || !slices.Equal(f.Warnings, last.Warnings) {
		j.of.fit = f
	}
	j.fit = j.of.fit
}
