package hostlist

import (
	"math"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Chunk is a host and how many cores a PBS job has on it.
type Chunk struct {
	Host  string
	Cores int
}

// ParseExecHost reads the exec_host attribute of a PBS job, such as "n1/0*4+n2/0": host, task slot and cores, of which one is not written. Hosts come in
// the order in which they are first named, each once, with the sum of its cores.
func ParseExecHost(s string) ([]Chunk, error) {
	if len(s) > MaxText {
		return nil, tooMany("bytes of exec_host", uint64(len(s)), MaxText)
	}
	var out []Chunk
	index := map[string]int{}
	for item := range strings.SplitSeq(s, "+") {
		host, slot, ok := strings.Cut(item, "/")
		number, count, starred := strings.Cut(slot, "*")
		if !ok || !Valid(host) || strings.Trim(number, "0123456789") != "" || number == "" {
			return nil, badExecHost(item)
		}
		cores := 1
		if starred {
			n, err := strconv.ParseUint(count, 10, 31)
			if err != nil {
				return nil, badExecHost(item)
			}
			cores = int(n)
		}
		i, seen := index[host]
		if !seen {
			i = len(out)
			index[host] = i
			out = append(out, Chunk{Host: host})
		}
		out[i].Cores = min(out[i].Cores+cores, math.MaxInt32)
	}
	return out, nil
}

func badExecHost(item string) error {
	return core.Errorf(core.BadCall, "exec_host %q: it is not of the form host/slot or host/slot*cores", core.Clip(item))
}
