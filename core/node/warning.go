package node

import (
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core/hostlist"
)

const aboutNIC = "NIC "

// allWarnings are for the job's owner.
func (r *holding) allWarnings() []string { return slices.Concat(r.Grant.Warnings, r.warnings()) }

// warnings say how the run differs on this node from its grant. NICs with equal texts share a line.
func (r *holding) warnings() []string {
	var out, said []string
	nics := map[string][]string{} // by said
	for _, w := range r.Warnings {
		name, text, ok := strings.Cut(strings.TrimPrefix(w, aboutNIC), ": ")
		if !ok || !strings.HasPrefix(w, aboutNIC) {
			out = append(out, w)
			continue
		}
		if nics[text] == nil {
			said = append(said, text)
		}
		nics[text] = append(nics[text], name)
	}
	if r.unfit != "" {
		out = append(out, r.unfit)
	}
	for _, text := range said {
		slices.SortFunc(nics[text], hostlist.Compare)
		out = append(out, aboutNIC+hostlist.Fold(nics[text])+": "+text)
	}
	return out
}
