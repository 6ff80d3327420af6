package pbs

import (
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/core/scheduler"
)

// maxNodes bounds a job.
const maxNodes = 100_000

// placed are the hosts of a job with its cores there.
func placed(r row) ([]hostlist.Chunk, error) {
	chunks, err := hostlist.ParseExecHost(counted(r.hosts, r.vnodes))
	if err != nil || len(chunks) > maxNodes {
		return nil, core.Errorf(core.SchedulerAway, "job %s: qstat shows no exec_host that can be read: %v", r.id, err)
	}
	return chunks, nil
}

// counted is exec_host with the cores of exec_vnode where exec_host says none. It says "n1/0*0" of a chunk that has
// several vnodes: PBS adds their cores up at the last of them, and prints those of the first (set_nodes in
// node_manager.c of 23.06.06, and seen). Both attributes have the chunks in the same order.
func counted(hosts, vnodes string) string {
	if !strings.Contains(hosts, "*0") {
		return hosts
	}
	items, cores := strings.Split(hosts, "+"), chunks(vnodes)
	if len(items) != len(cores) {
		return hosts
	}
	for i, item := range items {
		if host, none := strings.CutSuffix(item, "*0"); none {
			items[i] = host + "*" + strconv.Itoa(cores[i])
		}
	}
	return strings.Join(items, "+")
}

// chunks are the cores of each chunk of exec_vnode; parentheses hold the vnodes of one together.
func chunks(vnodes string) (cores []int) {
	inside := false
	for item := range strings.SplitSeq(vnodes, "+") {
		if !inside {
			cores = append(cores, 0)
		}
		inside = (inside || strings.HasPrefix(item, "(")) && !strings.HasSuffix(item, ")")
		for r := range strings.SplitSeq(strings.Trim(item, "()"), ":") {
			if n, ok := strings.CutPrefix(r, "ncpus="); ok {
				cores[len(cores)-1] += amount(n)
			}
		}
	}
	return cores
}

func grouped(chunks []hostlist.Chunk) []core.Placement {
	cores := make(map[string]int, len(chunks))
	for _, c := range chunks {
		cores[c.Host] = c.Cores
	}
	return scheduler.Placements(cores)
}

// vnodes reads exec_vnode, "(n1[0]:ncpus=2:mem=1gb+n1[1]:ncpus=2)+(n2:ncpus=4)": the only list that a job has before it runs. Vnodes of one host, told by the
// brackets behind its name, are added up.
func vnodes(text string) ([]hostlist.Chunk, error) {
	var out []hostlist.Chunk
	at := map[string]int{}
	for item := range strings.SplitSeq(text, "+") {
		parts := strings.Split(strings.Trim(item, "()"), ":")
		host, _, _ := strings.Cut(parts[0], "[")
		if !hostlist.Valid(host) {
			return nil, core.Errorf(core.BadCall, "exec_vnode %q: it names no host", core.Clip(item))
		}
		i, seen := at[host]
		if !seen {
			if len(out) == maxNodes {
				return nil, core.Errorf(core.NotSupported, "exec_vnode: it has more than %d hosts", maxNodes)
			}
			i = len(out)
			at[host] = i
			out = append(out, hostlist.Chunk{Host: host})
		}
		for _, r := range parts[1:] {
			if v, ok := strings.CutPrefix(r, "ncpus="); ok {
				n, err := strconv.ParseUint(v, 10, 24)
				if err != nil {
					return nil, core.Errorf(core.BadCall, "exec_vnode %q: %q is no number of cores", core.Clip(item), core.Clip(v))
				}
				out[i].Cores += int(n)
			}
		}
	}
	return out, nil
}

// hostsOf is a hostlist of exec_host; empty where it cannot be read.
func hostsOf(execHost string) string {
	chunks, err := hostlist.ParseExecHost(execHost)
	if execHost == "" || err != nil {
		return ""
	}
	names := make([]string, len(chunks))
	for i, c := range chunks {
		names[i] = c.Host
	}
	return strings.Join(names, ",")
}
