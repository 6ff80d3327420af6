package slingshot

import (
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Translation is SwitchParameters as Weft has it.
type Translation struct {
	Config string // the pool, for config.hcl
	Policy string // all that site.policy.hcl of policy/sites/slurm-hpe-slingshot does not say; "" where it says all
	Notes  []Note // one for each parameter, in their order
}

// Kind tells notes apart.
type Kind uint8

// The kinds.
const (
	Same    Kind = iota // Weft does the same
	Differs             // Weft does otherwise
	Wrong               // the plugin has no such parameter, or not with this value
)

// Note tells where a parameter went. It never shows the value of a parameter of the fabric manager.
type Note struct {
	Name string // of the parameter; at most 64 bytes of it
	Kind Kind
	What string
}

// reading is the sum of the parameters so far.
type reading struct {
	first, last uint32 // VNIs
	classes     core.Classes
	jobVNI      string // all, user or none
	limits      [core.NumResources]limit
	addresses   uint32 // multicast addresses of each job; 0 is none
	nodes       uint32 // fewest nodes of a job with multicast addresses; 0 is none
}

// Translate reads the value of SwitchParameters. A wrong parameter only adds a note. The last of two
// values counts, as with the plugin.
func Translate(parameters string) Translation {
	r := &reading{first: 1024, last: 65535, classes: classes, jobVNI: none, limits: defaults}
	var t Translation
	for token := range strings.SplitSeq(parameters, ",") {
		if token == "" {
			continue // strtok_r passes over it
		}
		name, value, given := strings.Cut(token, "=")
		n := r.read(name, value, given)
		n.Name = core.Clip(name)
		t.Notes = append(t.Notes, n)
	}
	t.Config, t.Policy = r.config(), r.policy()
	return t
}

// parameters are all but those of limits. The plugin passes over case in their names.
var parameters = map[string]func(r *reading, value string, given bool) Note{
	"vnis":                   (*reading).vnis,
	"tcs":                    (*reading).tcs,
	"job_vni":                (*reading).job,
	"single_node_vni":        (*reading).single,
	"adjust_limits":          flag(Same, "a reservation is fitted to the rest of a NIC"),
	"no_adjust_limits":       flag(Differs, noAdjust),
	"hwcoll_addrs_per_job":   (*reading).collectives,
	"hwcoll_num_nodes":       (*reading).large,
	"destroy_retries":        count(0, Same, untilGone),
	"nic_distribution_count": count(1, Differs, everyNIC),
	"fm_url":                 text(noFabric),
	"fm_auth":                text(noFabric, "BASIC", "OAUTH"),
	"fm_authdir":             text(noFabric),
	"fm_authdir_ctld":        text(noFabric),
	"fm_mtls_ca":             text(noFabric),
	"fm_mtls_cert":           text(noFabric),
	"fm_mtls_key":            text(noFabric),
	"fm_mtls_url":            text(noFabric),
	"jlope_url":              text(noInstant),
	"jlope_auth":             text(noInstant, "BASIC", "OAUTH"),
	"jlope_authdir":          text(noInstant),
}

const (
	noAdjust = "not needed: Weft fits a reservation to the rest of a NIC, and starts no job below the policy's floor; " +
		"a job that asks for --network=no_adjust_limits has it in full or does not start"
	untilGone = "not needed: the agent tries until the service is gone, and no job gets the VNI before"
	everyNIC  = "not needed: a job has a service on every NIC of its nodes, and Weft counts all of them"
	noFabric  = "not needed: no fabric backend makes hardware collectives yet, so Weft asks no fabric manager"
	noInstant = "not needed: Instant On is gone since Slurm 24.11"
)

// read takes one parameter in. The plugin compares beginnings only, so that it takes jobs_vnis for no parameter and
// vnisfoo for vnis; here a name must be whole.
func (r *reading) read(name, value string, given bool) Note {
	if take := parameters[strings.ToLower(name)]; take != nil {
		return take(r, value, given)
	}
	return r.limit(name, value)
}
