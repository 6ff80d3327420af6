package local

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

func u16(n uint16) *uint16 { return &n }

func TestParseOptions(t *testing.T) {
	limits := func(r core.Resource, l core.LimitRequest) (all [core.NumResources]core.LimitRequest) {
		all[r] = l
		return all
	}
	for _, test := range []struct {
		in   []string
		want core.Request
	}{
		{nil, core.Request{}},
		{[]string{""}, core.Request{}},
		{[]string{"off"}, core.Request{Off: true}},
		{[]string{"off=true"}, core.Request{Off: true}},
		{[]string{"off=false", "vnis=1"}, core.Request{VNIs: 1}},
		{[]string{"vnis=4,job_vni", "single_node_vni"}, core.Request{VNIs: 4, JobVNI: true, SingleNode: true}},
		{[]string{"vnis=1,vnis=2", "off=0"}, core.Request{VNIs: 2}},
		{[]string{"off,vnis=2"}, core.Request{Off: true, Warnings: []string{"--options off: the job gets no VNI and no service; Weft ignores vnis"}}},
		{[]string{"classes=LOW_LATENCY:tc_bulk_data"}, core.Request{Classes: core.LowLatency | core.BulkData}},
		{[]string{"tcs=BEST_EFFORT"}, core.Request{Classes: core.BestEffort}},
		{[]string{"depth=1024,collectives,nic_distribution_count=2"}, core.Request{Depth: 1024, Collectives: true, Warnings: []string{
			"--options nic_distribution_count: it has no effect: a job has a service on every NIC of its nodes",
		}}},
		{[]string{"res_txqs=0,max_txq=65535,def_TXQS=2"}, core.Request{Limits: limits(core.TXQ, core.LimitRequest{PerCore: u16(2), Reserved: u16(0), Max: u16(65535)})}},
	} {
		got, err := ParseOptions(test.in)
		if err != nil {
			t.Errorf("%q: %v", test.in, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: %s", test.in, diff)
		}
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for in, says := range map[string]string{
		"vni=1":                             "did you mean vnis? the options are vnis=1..4",
		"jobvni":                            "did you mean job_vni?",
		"disable_rdzv_get":                  "--options disable_rdzv_get: Weft does not give it: a NIC has one switch",
		"res_txqz=1":                        "did you mean res_txqs?",
		"nothing_like_it":                   "max_R=0..65535 where R is one of ptes",
		"OFF":                               "there is no such option",
		" off":                              "there is no such option",
		"off,":                              "there is no such option",
		"vnis":                              "write --options vnis=1..4",
		"vnis=":                             "its value is missing",
		"vnis=0":                            "from 1 to 4",
		"vnis=5":                            "from 1 to 4",
		"vnis=-1":                           "from 1 to 4",
		"vnis=99999999999999":               "from 1 to 4",
		"depth=1025":                        "from 1 to 1024",
		"job_vni=maybe":                     "neither true nor false",
		"classes=ETH":                       "no traffic class",
		"classes=":                          "value is missing",
		"classes=LOW_LATENCY:":              "no traffic class",
		"classes=LOW_LATENCY,tcs=BULK_DATA": "--options tcs: it is --options classes by another name, with another value; give one",
		"max_les=65536":                     "from 0 to 65535",
		"res_les=9,max_les=8":               "9 is more than max_les, which is 8",
		"vnis=2\nFAKE LINE":                 "is not a number",
		strings.Repeat("x", 5000):           "more than 1024 bytes",
	} {
		_, err := ParseOptions([]string{in})
		checkError(t, err, core.BadRequest, says)
	}
}

func FuzzParseOptions(f *testing.F) {
	for _, s := range []string{"", "off", "vnis=2,job_vni", "classes=LOW_LATENCY:BULK_DATA", "res_les=1,max_les=2", "vni=1", "=", ",", "max_=", "tcs=:"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		r, err := ParseOptions([]string{in})
		if err != nil {
			if len(err.Error()) > 600 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			checkError(t, err, core.BadRequest, "option")
			return
		}
		if r.VNIs < 0 || r.VNIs > core.MaxVNIs || r.Depth < 0 || r.Depth > request.MaxDepth || r.Classes&^core.AllClasses != 0 {
			t.Errorf("%q became %+v", in, r)
		}
		for _, l := range r.Limits {
			if l.Reserved != nil && l.Max != nil && *l.Reserved > *l.Max {
				t.Errorf("%q reserves %d of at most %d", in, *l.Reserved, *l.Max)
			}
		}
		if r.Off && (r.VNIs != 0 || r.JobVNI || r.Collectives) {
			t.Errorf("%q is off and asks", in)
		}
	})
}
