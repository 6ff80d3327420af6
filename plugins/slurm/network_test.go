package slurm

import (
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

func TestParseNetwork(t *testing.T) {
	for _, c := range []struct {
		text string
		want core.Request
	}{
		{"", core.Request{}},
		{",, ,", core.Request{}},
		{"tcs=BULK_DATA", core.Request{Classes: core.BulkData}},
		{"tcs=low_latency:TC_BEST_EFFORT:tc_dedicated_access", core.Request{Classes: core.LowLatency | core.BestEffort | core.DedicatedAccess}},
		{"tcs=LOW_LATENCY,tcs=BULK_DATA", core.Request{Classes: core.BulkData}},
		{"no_vni", core.Request{Off: true}},
		{"job_vni", core.Request{JobVNI: true}},
		{"single_node_vni", core.Request{SingleNode: true}},
		{"adjust_limits", core.Request{}},
		{"no_adjust_limits", core.Request{Warnings: []string{"--network=no_adjust_limits: it has no effect: limits are always fitted to what a NIC has left"}}},
		{"disable_rdzv_get", core.Request{Warnings: []string{
			"--network=disable_rdzv_get: it has no effect: the switch is the NIC's, not the job's, and Weft leaves it alone",
		}}},
		{"hwcoll", core.Request{Collectives: true}},
		{"nic_distribution_count=2", core.Request{Warnings: []string{"--network=nic_distribution_count: it has no effect: a job has a service on every NIC of its nodes"}}},
		{"depth=1024", core.Request{Depth: 1024}},
		{"def_txqs=3", core.Request{Limits: limit(core.TXQ, core.LimitRequest{PerCore: u16(3)})}},
		{"res_tles=0,max_tles=65535", core.Request{Limits: limit(core.TLE, core.LimitRequest{Reserved: u16(0), Max: u16(65535)})}},
		// Slurm compares no more than the name's length, and no case.
		{"job_vnis=yes,DEPTHfoo=3", core.Request{JobVNI: true, Depth: 3}},
		{" single_node_vni , depth = 3", core.Request{SingleNode: true, Depth: 3}},
		{"job_vni=no,no_vni=off", core.Request{Off: true, Warnings: []string{"--network=no_vni: the job gets no VNI and no service; Weft ignores job_vni"}}},
		{"collectives,vnis=2", core.Request{Collectives: true, VNIs: 2}},
	} {
		got, err := dialect.ParseText(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

func TestParseNetworkRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"nonsense":                        `option "--network=nonsense": there is no such option; the options are vnis=1..4, job_vni,`,
		"job_vni,Instances=3":             `option "--network=Instances": there is no such option`,
		"job":                             `option "--network=job": there is no such option`,
		"def_frobs=2":                     `option "--network=def_frobs": there is no such option`,
		"res_txq=2":                       `option "--network=res_txq": there is no such option`,
		"depth":                           "depth: its value is missing",
		"depth=":                          "--network=depth: its value is missing; write --network=depth=1..1024",
		"depth=0":                         "from 1 to 1024",
		"depth=1025":                      "from 1 to 1024",
		"depth=+3":                        "from 1 to 1024",
		"depth=0x10":                      "from 1 to 1024",
		"max_acs=65536":                   "max_acs: \"65536\" is not a number from 0 to 65535",
		"res_eqs=-1":                      "res_eqs",
		"nic_distribution_count=0":        "from 1 to 65535",
		"tcs=":                            "--network=tcs: its value is missing",
		"tcs=LOW_LATENCY:FAST":            `"FAST" is no traffic class; there are DEDICATED_ACCESS, LOW_LATENCY, BULK_DATA, BEST_EFFORT`,
		"max_cts=5,res_cts=6":             "res_cts: 6 is more than max_cts, which is 5",
		"x\nweft: all is well":            `option "--network=x\nweft: all is well": there`,
		strings.Repeat("a", 5000):         "more than 1024 bytes",
		strings.Repeat("hwcoll,", 65):     "more than 64 options",
		"\x1b[2Jjob_vni":                  `"--network=\x1b[2Jjob_vni"`,
		"tcs=" + strings.Repeat("é", 100): "…",
	} {
		_, err := dialect.ParseText(text)
		checkError(t, err, core.BadRequest, says)
	}
}

// Whatever valid tokens are put together, in whatever case and with whatever behind the name, all are heard.
func TestNetworkHearsEveryToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var words []string
		want := core.Request{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"job_vni", "single_node_vni", "hwcoll", "depth", "tcs", "def_les", "adjust_limits"}), 0, 7, rapid.ID[string]).Draw(t, "names") {
			value := ""
			switch name {
			case "job_vni":
				want.JobVNI = true
			case "single_node_vni":
				want.SingleNode = true
			case "hwcoll":
				want.Collectives = true
			case "depth":
				want.Depth, value = 77, "=77"
			case "tcs":
				want.Classes, value = core.LowLatency, "=low_latency"
			case "def_les":
				want.Limits[core.LE].PerCore, value = u16(5), "=5"
			}
			if rapid.Bool().Draw(t, "upper") {
				name = strings.ToUpper(name)
			}
			words = append(words, name+rapid.StringMatching(`[a-z_]{0,4}`).Draw(t, "more")+value)
		}
		got, err := dialect.ParseText(strings.Join(words, ","))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(words, diff)
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
