package slingshot

import (
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// limit of a resource. A core counts only where reserved is 0.
type limit struct{ core, reserved, max uint32 }

// defaults are those of the plugin since 25.05; before, acs were 4 for each core. Each max is also the greatest number
// that a parameter may have.
var defaults = [core.NumResources]limit{
	core.TXQ: {2, 0, 1024},
	core.TGQ: {1, 0, 512},
	core.EQ:  {2, 0, 2047},
	core.CT:  {1, 0, 2047},
	core.TLE: {1, 0, 2048},
	core.PTE: {6, 0, 2048},
	core.LE:  {16, 0, 16384},
	core.AC:  {2, 0, 1022},
}

// floor is that of site.policy.hcl, the needs of one core.
var floor = [core.NumResources]uint32{core.TXQ: 2, core.TGQ: 1, core.EQ: 2, core.PTE: 6, core.AC: 2}

// order is that of the plugin's names in its messages.
var order = []core.Resource{core.TXQ, core.TGQ, core.EQ, core.CT, core.TLE, core.PTE, core.LE, core.AC}

// limit reads def_R, res_R and max_R, in lower case as the plugin does.
func (r *reading) limit(name, value string) Note {
	prefix, of, _ := strings.Cut(name, "_")
	res, err := core.ParseResource(of)
	if err != nil || res.String() != of || prefix != "def" && prefix != "res" && prefix != "max" {
		return wrong("switch/hpe_slingshot has no such parameter")
	}
	n, ok := number(value, 0, defaults[res].max)
	if !ok {
		return wrong("it must be a number from 0 to %d", defaults[res].max)
	}
	l := &r.limits[res]
	switch prefix {
	case "def":
		l.core = n
		return same("the policy reserves %d for each core", n)
	case "res":
		l.reserved = n
		if n == 0 {
			return same("0 leaves it to def_%s", of)
		}
		return same("the policy reserves %d on a node, however many cores a job has there", n)
	}
	l.max = n
	return same("the policy gives at most %d", n)
}

// hcl is a limit in policy's words. As in site.policy.hcl a user may ask for twice the reservation, or where there is
// none for twice the plugin's own.
func (l limit) hcl(own limit) string {
	reserved, ask := times(l.core, l.max), times(2*l.core, l.max)
	switch {
	case l.reserved > 0:
		reserved, ask = fmt.Sprint(l.reserved), fmt.Sprint(2*l.reserved)
	case l.core == 0:
		ask = times(2*own.core, l.max)
	}
	return fmt.Sprintf("{ reserved = %s, ask = %s, max = %d }", reserved, ask, l.max)
}

// times is n for each core. Policy denies a job with a number above 65535, so a great n is bounded. A depth is at most
// 1024, and few nodes have more cores.
func times(n, most uint32) string {
	switch {
	case n == 0:
		return "0"
	case n*1024 > 65535:
		return fmt.Sprintf("min(%d * share.cores, %d)", n, most)
	}
	return fmt.Sprintf("%d * share.cores", n)
}

// least is the part of a reservation of one core that a job must have, within the site's floor.
func (l limit) least(res core.Resource) uint32 {
	reserved := l.reserved
	if reserved == 0 {
		reserved = l.core
	}
	return min(floor[res], reserved, l.max)
}
