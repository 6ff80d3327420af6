package slurm

import (
	gocmp "cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

func u16(n uint16) *uint16 { return &n }

func limit(r core.Resource, l core.LimitRequest) (all [core.NumResources]core.LimitRequest) {
	all[r] = l
	return all
}

// words is a row for each word that --network can have: what switch/hpe_slingshot does with it, and what Weft does.
type words struct {
	text    string
	refused bool // there: _parse_network_token in config.c of 23.11 to 26.05, where the site lets users ask for VNIs
	want    core.Request
	says    string // the refusal here
	differs string // the row of docs/slurm.md that gives the reason
}

// network has every token of the plugin, each with every kind of value and mistake. Those of limits are in ofLimits.
var network = []words{
	{text: ""},
	{text: ",,,"},
	{text: " ", refused: true, says: "there is no such option"},
	{text: "=", refused: true, says: "there is no such option"},
	{text: "nonsense", refused: true, says: `"--network=nonsense": there is no such option; the options are vnis=1..4, job_vni,`},
	{text: "job_vni,Instances=3", refused: true, says: `"--network=Instances": there is no such option`},

	{text: "depth=1", want: core.Request{Depth: 1}},
	{text: "depth=1024", want: core.Request{Depth: 1024}},
	{text: "depth=3,,depth=4", want: core.Request{Depth: 4}},
	{text: "depths=3", want: core.Request{Depth: 3}},
	{text: "depth", refused: true, says: "--network=depth: its value is missing; write --network=depth=1..1024"},
	{text: "depth=", refused: true, says: "--network=depth: its value is missing"},
	{text: "depth=0", refused: true, says: "from 1 to 1024"},
	{text: "depth=-1", refused: true, says: "from 1 to 1024"},
	{text: "depth=1025", refused: true, says: "from 1 to 1024"},
	{text: "depth=3x", refused: true, says: "from 1 to 1024"},
	{text: "depth=3 ", refused: true, says: "from 1 to 1024"},
	{text: "depth=0x10", refused: true, says: "from 1 to 1024"},
	{text: "depth=1.5", refused: true, says: "from 1 to 1024"},
	{text: "depth= 3", says: "from 1 to 1024", differs: number},
	{text: "depth=+3", says: "from 1 to 1024", differs: number},
	{text: "depth=4294967299", says: "from 1 to 1024", differs: number}, // there it is 3
	{text: "DEPTH=3", refused: true, says: "there is no such option; did you mean depth?"},
	{text: " depth=3", refused: true, says: "there is no such option; did you mean depth?"},
	{text: "depth =3", want: core.Request{Depth: 3}},

	{text: "job_vni", want: core.Request{JobVNI: true}},
	{text: "job_vni=", refused: true, says: "--network=job_vni: it takes no value; write --network=job_vni"},
	{text: "job_vni=none", refused: true, says: "it takes no value"},
	{text: "job_vni=1", refused: true, says: "it takes no value"},
	{text: "job_vnis", refused: true, says: "did you mean job_vni?"},
	{text: "JOB_VNI", refused: true, says: "did you mean job_vni?"},
	{text: "job_vni ", refused: true, says: "did you mean job_vni?"},
	{text: "job", refused: true, says: "there is no such option"},

	{text: "single_node_vni", want: core.Request{SingleNode: true}},
	{text: "single_node_vni=all", refused: true, says: "it takes no value"},
	{text: "single_node_vni=", refused: true, says: "it takes no value"},
	{text: "single_node_vnis", refused: true, says: "did you mean single_node_vni?"},
	{text: "Single_Node_VNI", refused: true, says: "did you mean single_node_vni?"},

	{text: "no_vni", want: core.Request{Off: true}},
	{text: "no_vni=0", refused: true, says: "it takes no value"},
	{text: "no_vni=", refused: true, says: "it takes no value"},
	{text: "no_vnis", refused: true, says: "did you mean no_vni?"},
	{text: "NO_VNI", refused: true, says: "did you mean no_vni?"},
	{text: "job_vni,no_vni", want: core.Request{Off: true, Warnings: []string{
		"--network=no_vni: the job gets no VNI and no service; Weft ignores job_vni",
	}}},
	{text: "no_vni,depth=0", refused: true, says: "from 1 to 1024"},

	{text: "adjust_limits"},
	{text: "no_adjust_limits", want: core.Request{Exact: true}},
	{text: "no_adjust_limits,adjust_limits"},
	{text: "adjust_limits,no_adjust_limits", want: core.Request{Exact: true}},
	{text: "adjust_limits=0", says: "it takes no value", differs: behind},
	{text: "adjust_limitsx", says: "did you mean adjust_limits?", differs: behind},
	{text: "no_adjust_limits=0", says: "it takes no value", differs: behind},
	{text: "no_adjust_limits=", says: "it takes no value", differs: behind},
	{text: "no_adjust_limitsx", says: "did you mean no_adjust_limits?", differs: behind},
	{text: "ADJUST_LIMITS", refused: true, says: "did you mean adjust_limits?"},
	{text: "No_adjust_limits", refused: true, says: "did you mean no_adjust_limits?"},

	{text: "disable_rdzv_get", says: "Weft does not give it: a NIC has one switch for the rendezvous gets", differs: rendezvous},
	{text: "disable_rdzv_get=0", says: "Weft does not give it", differs: rendezvous},
	{text: "disable_rdzv_gets", says: "there is no such option", differs: rendezvous},
	{text: "Disable_rdzv_get", refused: true, says: "there is no such option"},

	{text: "hwcoll", want: core.Request{Collectives: true}, differs: "`hwcoll`"},
	{text: "hwcoll=1", refused: true, says: "it takes no value"},
	{text: "hwcolls", refused: true, says: "did you mean hwcoll?"},
	{text: "HWCOLL", refused: true, says: "did you mean hwcoll?"},

	{text: "tcs=BULK_DATA", want: core.Request{Classes: core.BulkData}},
	{text: "tcs=low_latency:tc_Best_Effort:TC_DEDICATED_ACCESS", want: core.Request{
		Classes: core.LowLatency | core.BestEffort | core.DedicatedAccess,
	}},
	{text: "tcs=LOW_LATENCY,tcs=BULK_DATA", want: core.Request{Classes: core.BulkData}},
	{text: "tcs=LOW_LATENCY:LOW_LATENCY", want: core.Request{Classes: core.LowLatency}},
	{text: "tcs_of_mine=BULK_DATA", want: core.Request{Classes: core.BulkData}},
	{text: "tcs", refused: true, says: "--network=tcs: its value is missing; write --network=tcs=CLASS:CLASS"},
	{text: "tcs=", refused: true, says: "--network=tcs: its value is missing"},
	{text: "tcs=:", refused: true, says: `"" is no traffic class`},
	{text: "tcs=LOW_LATENCY:FAST", refused: true, says: `"FAST" is no traffic class; there are DEDICATED_ACCESS, LOW_LATENCY,`},
	{text: "tcs=LOW_LATENCY BULK_DATA", refused: true, says: "is no traffic class"},
	{text: "tcs=LOW_LATENCY:", says: `"" is no traffic class`, differs: "an empty class in `tcs`"},
	{text: "tcs=CXI_TC_BULK_DATA", refused: true, want: core.Request{Classes: core.BulkData}, differs: own},
	{text: "TCS=BULK_DATA", refused: true, says: "did you mean tcs?"},

	{text: "nic_distribution_count=2", want: spread, differs: distribution},
	{text: "nic_distribution_count=65535", want: spread, differs: distribution},
	{text: "nic_distribution_counts=2", want: spread, differs: distribution},
	{text: "nic_distribution_count", refused: true, says: "its value is missing"},
	{text: "nic_distribution_count=", refused: true, says: "its value is missing"},
	{text: "nic_distribution_count=0", refused: true, says: "from 1 to 65535"},
	{text: "nic_distribution_count=65536", refused: true, says: "from 1 to 65535"},
	{text: "nic_distribution_count=+2", says: "from 1 to 65535", differs: number},
	{text: "NIC_distribution_count=2", refused: true, says: "did you mean nic_distribution_count?"},

	{text: "def_frobs=2", refused: true, says: `"--network=def_frobs": there is no such option`},
	{text: "max_cts=5,res_cts=6", want: core.Request{
		Limits:   limit(core.CT, core.LimitRequest{Reserved: u16(5), Max: u16(5)}),
		Warnings: []string{"--network=res_cts: more than the maximum that was asked for, so Weft lowers it"},
	}, differs: "`res_R` above `max_R`"},
	{text: "max_cts=5,res_cts=6,res_eqs=2,max_eqs=1,res_les=1,max_les=1", want: core.Request{
		Limits: [core.NumResources]core.LimitRequest{
			core.CT: {Reserved: u16(5), Max: u16(5)}, core.EQ: {Reserved: u16(1), Max: u16(1)}, core.LE: {Reserved: u16(1), Max: u16(1)},
		},
		Warnings: []string{"--network=res_eqs, --network=res_cts: more than the maximum that was asked for, so Weft lowers it"},
	}, differs: "`res_R` above `max_R`"},

	{text: "vnis=2", refused: true, want: core.Request{VNIs: 2}, differs: own},
	{text: "collectives", refused: true, want: core.Request{Collectives: true}, differs: own},
	{text: "off", refused: true, want: core.Request{Off: true}, differs: own},
	{text: "classes=BULK_DATA", refused: true, want: core.Request{Classes: core.BulkData}, differs: own},
	{text: "vnisx=2", refused: true, says: "did you mean vnis?"},
	{text: "x\nweft: all is well", refused: true, says: `option "--network=x\nweft: all is well": there`},
	{text: "\x1b[2Jjob_vni", refused: true, says: `"--network=\x1b[2Jjob_vni"`},
	{text: "tcs=" + strings.Repeat("é", 100), refused: true, says: "…"},
	{text: strings.Repeat("a", 5000), refused: true, says: "more than 1024 bytes"},
	{text: strings.Repeat("hwcoll,", 65), says: "more than 64 options", differs: "more than 64 options, or 1024 bytes"},
}

// Rows of docs/slurm.md.
const (
	behind       = "`adjust_limits` or `no_adjust_limits`, and more behind it"
	distribution = "`nic_distribution_count`"
	number       = "a sign, a blank or more than 32 bits in a number"
	own          = "`vnis`, `off`, `classes`, `collectives`, `CXI_TC_…`"
	rendezvous   = "`disable_rdzv_get`"
)

var spread = core.Request{Warnings: []string{
	"--network=nic_distribution_count: it has no effect: a job has a service on every NIC of its nodes",
}}

// most is what the plugin takes at most of each resource (SLINGSHOT_*_MAX in switch_hpe_slingshot.h).
var most = [core.NumResources]uint16{
	core.PTE: 2048, core.TXQ: 1024, core.TGQ: 512, core.EQ: 2047, core.CT: 2047, core.LE: 16384, core.TLE: 2048, core.AC: 1022,
}

// ofLimits are the rows of one kind of limit of one resource.
func ofLimits(kind string, r core.Resource, of func(n *uint16) core.LimitRequest) []words {
	name := kind + r.String()
	taken := func(n uint16) core.Request { return core.Request{Limits: limit(r, of(&n))} }
	none := taken(0)
	if kind == "res_" { // it is not set there, so def_ counts
		none = core.Request{}
	}
	const bounds, unknown = "from 0 to 65535", "there is no such option"
	return []words{
		{text: name + "=3", want: taken(3)},
		{text: name + "=3," + name + "=4", want: taken(4)},
		{text: name + "=0", want: none},
		{text: fmt.Sprint(name, "=", most[r]), want: taken(most[r])},
		{text: fmt.Sprint(name, "=", most[r]+1), refused: true, want: taken(most[r] + 1), differs: "a limit above what a NIC has"},
		{text: name, refused: true, says: name + ": its value is missing"},
		{text: name + "=", refused: true, says: name + ": its value is missing"},
		{text: name + "=-1", refused: true, says: bounds},
		{text: name + "=65536", refused: true, says: bounds},
		{text: name + "=3x", refused: true, says: bounds},
		{text: name + "=+3", says: bounds, differs: number},
		{text: name + "= 3", says: bounds, differs: number},
		{text: name + "=4294967297", says: bounds, differs: number}, // there it is 1
		{text: name + "x=3", refused: true, says: unknown},
		{text: strings.ToUpper(name) + "=3", refused: true, says: unknown},
		{text: kind + strings.ToUpper(r.String()) + "=3", refused: true, says: unknown},
		{text: " " + name + "=3", refused: true, says: unknown},
		{text: strings.TrimSuffix(name, "s") + "=3", refused: true, says: unknown},
	}
}

// TestAsThePlugin holds --network against switch/hpe_slingshot. Where Weft does otherwise, docs/slurm.md says why.
func TestAsThePlugin(t *testing.T) {
	page, err := os.ReadFile("../../docs/slurm.md")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(network)
	for r := range core.NumResources {
		all = append(all, ofLimits("def_", r, func(n *uint16) core.LimitRequest { return core.LimitRequest{PerCore: n} })...)
		all = append(all, ofLimits("res_", r, func(n *uint16) core.LimitRequest { return core.LimitRequest{Reserved: n} })...)
		all = append(all, ofLimits("max_", r, func(n *uint16) core.LimitRequest { return core.LimitRequest{Max: n} })...)
	}
	for _, w := range all {
		got, err := dialect.ParseText(w.text)
		if w.says != "" {
			checkError(t, err, core.BadRequest, w.says)
		} else if err != nil {
			t.Errorf("%q: %v", w.text, err)
		}
		if diff := cmp.Diff(w.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", core.Clip(w.text), diff)
		}
		if w.differs == "" && w.refused != (w.says != "") {
			t.Errorf("%q: the plugin does otherwise, and no row of docs/slurm.md is named", core.Clip(w.text))
		}
		if w.differs != "" && !strings.Contains(string(page), "\n| "+w.differs+" | ") {
			t.Errorf("%q: docs/slurm.md has no row %q", core.Clip(w.text), w.differs)
		}
	}
}

// Whatever tokens are put together, those of the plugin are heard, and no other.
func TestNetworkHearsEveryToken(t *testing.T) {
	tokens := map[string]core.Request{
		"job_vni": {JobVNI: true}, "single_node_vni": {SingleNode: true}, "hwcoll": {Collectives: true}, "adjust_limits": {},
		"no_adjust_limits": {Exact: true}, "depth=77": {Depth: 77}, "tcs=low_latency": {Classes: core.LowLatency},
		"def_les=5": {Limits: limit(core.LE, core.LimitRequest{PerCore: u16(5)})},
	}
	names := slices.Sorted(maps.Keys(tokens))
	rapid.Check(t, func(t *rapid.T) {
		var given []string
		var wrong bool
		want := core.Request{}
		for _, token := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, len(names), rapid.ID[string]).Draw(t, "tokens") {
			asks := tokens[token]
			want.JobVNI, want.SingleNode = want.JobVNI || asks.JobVNI, want.SingleNode || asks.SingleNode
			want.Collectives, want.Depth = want.Collectives || asks.Collectives, want.Depth+asks.Depth
			want.Classes |= asks.Classes
			want.Limits[core.LE].PerCore = gocmp.Or(asks.Limits[core.LE].PerCore, want.Limits[core.LE].PerCore)
			if strings.HasSuffix(token, "adjust_limits") {
				want.Exact = asks.Exact
			}
			name, value, _ := strings.Cut(token, "=")
			more := rapid.StringMatching(`[a-z_]{0,4}`).Draw(t, "more")
			wrong = wrong || more != "" && name != "depth" && name != "tcs"
			if rapid.IntRange(0, 9).Draw(t, "upper") == 0 {
				name, wrong = strings.ToUpper(name), true
			}
			if name += more; value != "" {
				name += "=" + value
			}
			given = append(given, name)
		}
		got, err := dialect.ParseText(strings.Join(given, ","))
		if (err != nil) != wrong {
			t.Fatalf("%q: %v", given, err)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatal(given, diff)
		}
	})
}

func FuzzParseNetwork(f *testing.F) {
	for _, s := range []string{"", "tcs=BULK_DATA:X", "job_vni,depth=3", "max_txqs=1,res_txqs=2", "no_vni,hwcoll", "a\nb", "=,="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := dialect.ParseText(text)
		if err != nil {
			if e := core.AsError(err); e.Reason != core.BadRequest || len(e.Line()) > 2000 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if r.Depth < 0 || r.Depth > request.MaxDepth || r.Classes&^core.AllClasses != 0 || len(r.Warnings) > 4 {
			t.Errorf("%q: %+v", text, r)
		}
	})
}
