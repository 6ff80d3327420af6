package engine

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Allocator gives VNIs out of pools. core/allocator implements it.
type Allocator interface {
	Take(pool string) (core.VNI, error)
	Hold(v core.VNI)
	Give(v core.VNI)
	Use() map[string]int
}

// Config is what the engine is told of config.hcl and policy; Configure replaces it while it runs.
type Config struct {
	Nodes      []string // that must report before a new store grants anything
	System     System
	Pools      []Pool
	Schedulers []string            // labels
	Observe    map[string]Observed // by label, those whose jobs are only observed
	Policy     Text                // the policy that decides now
	Rules      Rules
}

// Pool is what the engine must know of a pool or a service's block beside its VNIs.
type Pool struct {
	Name       string
	Quarantine time.Duration
	Contains   func(core.VNI) bool
	Serves     func(node string) bool // is the node a server of this data service; nil: of none
}

// Served is the name of the data service of which node is a server and whose block has all of vnis, or empty. A service
// with such VNIs there is the data service's own.
func (c *Config) Served(node string, vnis []core.VNI) string {
	for _, p := range c.Pools {
		outside := func(v core.VNI) bool { return !p.Contains(v) }
		if p.Serves != nil && p.Serves(node) && len(vnis) > 0 && !slices.ContainsFunc(vnis, outside) {
			return p.Name
		}
	}
	return ""
}

// Rules are the engine's times and bounds. Zero values are replaced by the defaults of DefaultRules.
type Rules struct {
	Quarantine  time.Duration // for VNIs of no pool
	Fresh       time.Duration // how old an answer that shows a job may be for a further node to join without asking
	Away        time.Duration // out of contact: held
	Busy        time.Duration // busy: held
	Repeat      time.Duration // orders are repeated
	VanishWait  time.Duration // after an alarm
	VanishCount int           // more than so many jobs at once …
	VanishShare int           // … and more than one in so many raise the alarm
	Vouch       time.Duration // how long an answer that lacks a job waits for its nodes to say whether it lives
	Unknown     int           // VNIs that the unknown services of one node may hold
}

// DefaultRules are those of docs/states.md.
var DefaultRules = Rules{
	Quarantine: 60 * time.Second, Fresh: 10 * time.Second, Away: 3 * time.Minute, Busy: 5 * time.Minute, Repeat: 10 * time.Second,
	VanishWait: 10 * time.Minute, VanishCount: 20, VanishShare: 10, Unknown: 64, Vouch: 30 * time.Second,
}
