package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
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
		{"disable_rdzv_get", core.Request{NoRendezvous: true, Warnings: []string{
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
		{"no_vni,job_vni,depth=2", core.Request{Off: true, JobVNI: true, Depth: 2, Warnings: []string{
			"--network=no_vni: the job gets no VNI and no service, so nothing else that --network asks for has an effect",
		}}},
	} {
		got, err := ParseNetwork(c.text)
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
		"nonsense":                        `--network: "nonsense" is no option of it`,
		"job_vni,Instances=3":             `"Instances" is no option`,
		"job":                             `"job" is no option`,
		"def_frobs=2":                     `"def_frobs" is no option`,
		"res_txq=2":                       `"res_txq" is no option`,
		"depth":                           "depth: its value is missing",
		"depth=":                          `depth: "" is not a number from 1 to 1024; write depth=1..1024`,
		"depth=0":                         "from 1 to 1024",
		"depth=1025":                      "from 1 to 1024",
		"depth=+3":                        "from 1 to 1024",
		"depth=0x10":                      "from 1 to 1024",
		"max_acs=65536":                   "max_acs: \"65536\" is not a number from 0 to 65535",
		"res_eqs=-1":                      "res_eqs",
		"nic_distribution_count=0":        "from 1 to 65535",
		"tcs=":                            `"" is no traffic class`,
		"tcs=LOW_LATENCY:FAST":            `"FAST" is no traffic class; there are DEDICATED_ACCESS, LOW_LATENCY, BULK_DATA, BEST_EFFORT`,
		"max_cts=5,res_cts=6":             "res_cts: 6 is more than max_cts, which is 5",
		"x\nweft: all is well":            `"x\nweft: all is well"`,
		strings.Repeat("a", 5000):         "more than 1024 bytes",
		strings.Repeat("hwcoll,", 65):     "more than 64 options",
		"\x1b[2Jjob_vni":                  `"\x1b[2Jjob_vni"`,
		"tcs=" + strings.Repeat("é", 100): "…",
	} {
		_, err := ParseNetwork(text)
		checkError(t, err, core.BadRequest, says)
	}
}

// find goes by the first token that fits, so none may begin with another.
func TestTokensDoNotHideEachOther(t *testing.T) {
	for _, a := range tokens {
		got, err := find(a.name + "=1")
		if err != nil || got.name != a.name {
			t.Errorf("%s is read as %s: %v", a.name, got.name, err)
		}
	}
	if len(tokens) != 10+3*int(core.NumResources) {
		t.Errorf("there are %d tokens", len(tokens))
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
		got, err := ParseNetwork(strings.Join(words, ","))
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
		r, err := ParseNetwork(text)
		if err != nil {
			if e := core.AsError(err); e.Reason != core.BadRequest || len(e.Line()) > 2000 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if r.Depth < 0 || r.Depth > maxDepth || r.Classes&^core.AllClasses != 0 || len(r.Warnings) > maxTokens+1 {
			t.Errorf("%q: %+v", text, r)
		}
	})
}
