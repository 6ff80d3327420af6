package flux

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

func u16(n uint16) *uint16 { return &n }

func TestOptions(t *testing.T) {
	limits := core.Request{Depth: 64}
	limits.Limits[core.TXQ] = core.LimitRequest{PerCore: u16(4)}
	limits.Limits[core.LE] = core.LimitRequest{Reserved: u16(0), Max: u16(4096)}
	for text, want := range map[string]core.Request{
		`{}`: {},
		`{"rlimit":{"core":0},"cray-slingshot":{"vnicount":2}}`: {VNIs: 2}, // recording 01
		`{"cray-slingshot":"off"}`:                              {Off: true},
		`{"cray-slingshot":{"vnicount":0}}`:                     {Off: true},
		`{"cray-slingshot":{}}`:                                 {},
		`{"cray-slingshot":"vnicount=2"}`:                       {VNIs: 2},
		`{"cray-slingshot":"vnicount=0"}`:                       {Off: true},
		`{"slingshot":"vnis=3"}`:                                {VNIs: 3},
		`{"slingshot":"off"}`:                                   {Off: true},
		`{"slingshot":{"off":1}}`:                               {Off: true},
		`{"cray-slingshot":{"off":1}}`:                          {Off: true}, // as weft.lua takes it within an instance
		`{"cray-slingshot":{"off":0}}`:                          {},
		`{"slingshot":{}}`:                                      {},
		`{"slingshot":{"vnis":2,"job_vni":1}}`:                  {VNIs: 2, JobVNI: true},
		`{"cray-slingshot":{"vnicount":1},"slingshot":{"vnis":"3","single_node_vni":true,"hwcoll":0}}`: {VNIs: 3, SingleNode: true},
		`{"slingshot":{"tcs":"LOW_LATENCY:bulk_data"}}`:                                                {Classes: core.LowLatency | core.BulkData},
		`{"slingshot":{"hwcoll":1}}`:                                                                   {Collectives: true},
		`{"slingshot":{"depth":64,"def_txqs":4,"res_les":0,"max_les":4096}}`:                           limits,
		`{"slingshot":{"nic_distribution_count":1}}`: {Warnings: []string{
			"-o slingshot.nic_distribution_count: it has no effect: a job has a service on every NIC of its nodes",
		}},
		`{"slingshot":{"off":1,"vnis":2}}`: {Off: true, Warnings: []string{
			"-o slingshot.off: the job gets no VNI and no service; Weft ignores vnis",
		}},
		`{"cray-slingshot":"off","slingshot":{"vnis":2}}`: {Off: true, Warnings: []string{
			"-o cray-slingshot=off: the job gets no VNI and no service; Weft ignores vnis",
		}},
		`{"cray-slingshot":{"vnicount":0},"slingshot":{"collectives":1}}`: {Off: true, Warnings: []string{
			"-o cray-slingshot.vnicount=0: the job gets no VNI and no service; Weft ignores collectives",
		}},
	} {
		var options map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &options); err != nil {
			t.Fatal(err)
		}
		got, err := ParseOptions(options)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	for text, says := range map[string]string{
		`{"slingshot":"on"}`:                      `option "-o slingshot`,
		`{"slingshot":{"disable_rdzv_get":1}}`:    "-o slingshot.disable_rdzv_get: Weft does not give it: a NIC has one switch",
		`{"slingshot":1}`:                         `option "-o slingshot`,
		`{"slingshot":[]}`:                        `option "-o slingshot`,
		`{"slingshot":{"colour":"blue"}}`:         `option "-o slingshot.colour": there is no such option`,
		`{"slingshot":{"%d":"blue"}}`:             `option "-o slingshot.%d": there is no such option`,
		`{"slingshot":{"vnis":5}}`:                "-o slingshot.vnis:",
		`{"slingshot":{"vnis":0}}`:                "-o slingshot.vnis:",
		`{"slingshot":{"vnis":1.5}}`:              "-o slingshot.vnis:",
		`{"slingshot":{"vnis":{"a":1}}}`:          `option "-o slingshot.vnis": its value is no word`,
		`{"slingshot":{"vnis":null}}`:             `option "-o slingshot.vnis": its value is no word`,
		`{"slingshot":{"depth":1025}}`:            "-o slingshot.depth:",
		`{"slingshot":{"tcs":"FAST"}}`:            `"FAST"`,
		`{"slingshot":{"job_vni":"maybe"}}`:       "-o slingshot.job_vni:",
		`{"slingshot":{"max_les":65536}}`:         "-o slingshot.max_les:",
		`{"slingshot":{"res_les":9,"max_les":8}}`: "-o slingshot.res_les: 9 is more than max_les",
		`{"slingshot":"\u001b[2J"}`:               `option "-o slingshot=\x1b[2J":`,
		`{"cray-slingshot":"on"}`:                 `option "-o cray-slingshot`,
		`{"cray-slingshot":{"vnicount":5}}`:       "-o cray-slingshot.vnicount:",
		`{"cray-slingshot":"vnicount=5"}`:         "-o cray-slingshot.vnicount:",
		`{"slingshot":"colour=blue=1"}`:           `option "-o slingshot.colour": there is no such option`,
		`{"cray-slingshot":{"vnis":1}}`:           `option "-o cray-slingshot.vnis":`,
		`{"cray-slingshot":{"off":"maybe"}}`:      "-o cray-slingshot.off:",
	} {
		var options map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &options); err != nil {
			t.Fatal(err)
		}
		_, err := ParseOptions(options)
		checkError(t, err, core.BadRequest, says)
	}
}

func FuzzParseOptions(f *testing.F) {
	f.Add([]byte(`{"slingshot":{"depth":64,"def_txqs":4},"cray-slingshot":{"vnicount":2}}`))
	f.Add([]byte(`{"slingshot":"off"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var options map[string]json.RawMessage
		if json.Unmarshal(text, &options) != nil {
			return
		}
		r, err := ParseOptions(options)
		if err != nil {
			if e := core.AsError(err); e.Reason != core.BadRequest {
				t.Errorf("%v", err)
			}
			return
		}
		if r.VNIs < 0 || r.VNIs > core.MaxVNIs || r.Depth < 0 || r.Depth > request.MaxDepth || r.Off && r.VNIs != 0 {
			t.Errorf("%s: %+v", text, r)
		}
	})
}
