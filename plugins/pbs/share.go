package pbs

import (
	"context"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/core/scheduler"
)

// host is the part of a host's vnodes that decides how jobs share it.
type host struct {
	cores   int
	vnodes  int    // that have cores
	sharing string // of the last of them
}

// shares groups a job's hosts by its cores there and theirs. The cores of a host that PBS does not tell are 0.
func (p *Plugin) shares(ctx context.Context, chunks []hostlist.Chunk, place string) []core.Placement {
	names := func(yield func(string) bool) {
		for _, c := range chunks {
			if !yield(c.Host) {
				return
			}
		}
	}
	hosts := p.hosts.About(ctx, names, p.askHosts)
	nodes := make(map[string]core.Share, len(chunks))
	for _, c := range chunks {
		s := core.Share{Cores: c.Cores, Total: hosts[c.Host].cores}
		if hosts[c.Host].alone(place) {
			s.Total = max(s.Cores, 1)
		}
		nodes[c.Host] = s
	}
	return scheduler.Shares(nodes)
}

// alone reports whether a job with that place has the host for itself, as PBS's scheduler decides it (is_excl and
// is_exclhost in node_info.cpp of 20.0.1 to 23.06.06). On a host of several vnodes only exclhost is about all of them.
func (h host) alone(place string) bool {
	asks := map[string]bool{}
	for word := range strings.SplitSeq(place, ":") {
		asks[word] = true
	}
	switch {
	case h.sharing == "force_exclhost":
		return true
	case h.sharing == "ignore_excl":
		return false
	case asks["exclhost"]:
		return true
	case h.sharing == "default_exclhost":
		return !asks["excl"] && !asks["shared"] || h.vnodes <= 1 && asks["excl"]
	case h.vnodes > 1:
		return false
	case h.sharing == "force_excl" || asks["excl"]:
		return true
	}
	return h.sharing == "default_excl" && !asks["shared"]
}

// askHosts asks for all hosts that have cores.
func (p *Plugin) askHosts(ctx context.Context) map[string]host {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "pbsnodes", "-a")
	if err != nil {
		return nil
	}
	hosts := map[string]host{}
	for _, v := range parseVnodes(text) {
		if v.cores > 0 {
			h := hosts[v.host]
			hosts[v.host] = host{h.cores + v.cores, h.vnodes + 1, v.sharing}
		}
	}
	return hosts
}

// amount reads a number of cores; 0: the text is no number.
func amount(text string) int {
	n, err := strconv.ParseUint(text, 10, 24)
	if err != nil {
		return 0
	}
	return int(n)
}
