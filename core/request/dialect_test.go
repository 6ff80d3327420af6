package request_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// adapters are Weft's own, each with the words that precede an option in its dialect.
var adapters = map[string]struct {
	core.RequestParser
	before, name string
}{
	"slurm": {slurm.New("s"), "--network=", ""},
	"flux":  {flux.New("f"), "-o ", "slingshot."},
	"pbs":   {pbs.New("p"), "-l ", "slingshot_"},
	"local": {local.New("l"), "--options ", ""},
}

// parse asks one adapter for options in its spelling, and takes the spelling out of its answer.
func parse(t interface{ Context() context.Context }, scheduler string, words []string) (core.Request, string) {
	a := adapters[scheduler]
	var texts []string
	for _, w := range words {
		texts = append(texts, a.name+w)
	}
	r, err := a.ParseRequest(t.Context(), texts)
	plain := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, a.before+a.name, ""), a.name, "")
	}
	for i := range r.Warnings {
		r.Warnings[i] = plain(r.Warnings[i])
	}
	if err == nil {
		return r, ""
	}
	e := core.AsError(err)
	return r, string(e.Reason) + " " + strings.ReplaceAll(plain(e.Line()), "=true", "")
}

func u16(n uint16) *uint16 { return &n }

func limit(r core.Resource, l core.LimitRequest) (all [core.NumResources]core.LimitRequest) {
	all[r] = l
	return all
}

// TestOneMeaning gives the same options to all four adapters, each in its spelling.
func TestOneMeaning(t *testing.T) {
	idle := func(name, why string) core.Request {
		return core.Request{Warnings: []string{name + ": it has no effect: " + why}}
	}
	spread := idle("nic_distribution_count", "a job has a service on every NIC of its nodes")
	voided := func(what string) core.Request {
		return core.Request{Off: true, Warnings: []string{"off: the job gets no VNI and no service; Weft ignores " + what}}
	}
	for words, want := range map[string]core.Request{
		"":                                   {},
		"vnis=1":                             {VNIs: 1},
		"vnis=4":                             {VNIs: 4},
		"job_vni":                            {JobVNI: true},
		"single_node_vni":                    {SingleNode: true},
		"tcs=BULK_DATA":                      {Classes: core.BulkData},
		"classes=low_latency:TC_BEST_EFFORT": {Classes: core.LowLatency | core.BestEffort},
		"tcs=cxi_tc_dedicated_access":        {Classes: core.DedicatedAccess},
		"depth=1":                            {Depth: 1},
		"depth=1024":                         {Depth: 1024},
		"hwcoll":                             {Collectives: true},
		"collectives":                        {Collectives: true},
		"off":                                {Off: true},
		"no_vni":                             {Off: true},
		"adjust_limits":                      {},
		"no_adjust_limits":                   {Exact: true},
		"nic_distribution_count=65535":       spread,
		"nic_distribution_count=1 nic_distribution_count=2": spread,
		"def_txqs=3":                {Limits: limit(core.TXQ, core.LimitRequest{PerCore: u16(3)})},
		"res_tles=1 max_tles=65535": {Limits: limit(core.TLE, core.LimitRequest{Reserved: u16(1), Max: u16(65535)})},

		// The last of two counts, and off voids all others, in any order.
		"depth=3 depth=4":                {Depth: 4},
		"tcs=LOW_LATENCY tcs=BULK_DATA":  {Classes: core.BulkData},
		"hwcoll collectives":             {Collectives: true},
		"no_adjust_limits adjust_limits": {},
		"adjust_limits no_adjust_limits": {Exact: true},
		"off job_vni":                    voided("job_vni"),
		"job_vni depth=2 off":            voided("job_vni, depth"),
		"off tcs=BULK_DATA def_les=1":    voided("tcs, def_les"),
		"off nic_distribution_count=2":   {Off: true, Warnings: spread.Warnings},
	} {
		for scheduler := range adapters {
			got, refused := parse(t, scheduler, strings.Fields(words))
			if refused != "" {
				t.Errorf("%s: %q: %s", scheduler, words, refused)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %q (-want +got):\n%s", scheduler, words, diff)
			}
		}
	}
}

// TestOneRefusal gives the same mistakes to all four.
func TestOneRefusal(t *testing.T) {
	for words, says := range map[string]string{
		"colour=blue": `option "colour": there is no such option; the options are vnis=1..4, job_vni, single_node_vni, ` +
			"tcs|classes=CLASS:CLASS, depth=1..1024, hwcoll|collectives, off|no_vni, ",
		"vni=1":                             "did you mean vnis? the options are vnis=1..4",
		"job":                               `option "job": there is no such option`,
		"res_txqz=2":                        `option "res_txqz": there is no such option; did you mean res_txqs?`,
		"a\x1b[2Jb":                         `option "a\x1b[2Jb": there is no such option`,
		"vnis":                              "vnis: its value is missing; write vnis=1..4",
		"vnis=":                             "vnis: its value is missing; write vnis=1..4",
		"vnis=0":                            `vnis: "0" is not a number from 1 to 4; write vnis=1..4`,
		"vnis=5":                            "from 1 to 4",
		"vnis=99999999999999999999":         "from 1 to 4",
		"depth=0":                           "from 1 to 1024",
		"depth=1025":                        "from 1 to 1024; write depth=1..1024",
		"depth=+3":                          "from 1 to 1024",
		"depth=0x10":                        "from 1 to 1024",
		"depth=1.5":                         "from 1 to 1024",
		"nic_distribution_count=0":          "from 1 to 65535",
		"max_acs=65536":                     `max_acs: "65536" is not a number from 0 to 65535; write max_acs=0..65535`,
		"res_eqs=-1":                        "from 0 to 65535",
		"disable_rdzv_get":                  "Weft does not give it: a NIC has one switch for the rendezvous gets of all",
		"off disable_rdzv_get":              "disable_rdzv_get: Weft does not give it",
		"NO_VNIS":                           "did you mean no_vni?",
		"tcs=":                              "tcs: its value is missing; write tcs=CLASS:CLASS",
		"tcs=LOW_LATENCY:FAST":              `tcs: "FAST" is no traffic class; there are DEDICATED_ACCESS, LOW_LATENCY,`,
		"tcs=LOW_LATENCY:":                  `tcs: "" is no traffic class`,
		"tcs=" + strings.Repeat("é", 100):   "…",
		"classes=LOW_LATENCY tcs=BULK_DATA": "tcs: it is classes by another name, with another value; give one of them",
		strings.Repeat("a", 5000):           "it has more than 1024 bytes",
		strings.Repeat("depth=3 ", 65):      "it has more than 64 options",
	} {
		for scheduler := range adapters {
			_, refused := parse(t, scheduler, strings.Fields(words))
			if !strings.HasPrefix(refused, string(core.BadRequest)) || !strings.Contains(refused, says) {
				t.Errorf("%s: %q: %q does not say %q", scheduler, core.Clip(words), refused, says)
			}
		}
	}
}

// TestOnlySlurmReadsAsThePlugin: where the others take more, or refuse what switch/hpe_slingshot settles.
func TestOnlySlurmReadsAsThePlugin(t *testing.T) {
	const novalue = "bad-request job_vni: it takes no value; write job_vni"
	for words, want := range map[string]struct {
		slurm, others core.Request
		refused, said string // by Slurm's, and by the others
	}{
		"job_vni=1":     {others: core.Request{JobVNI: true}, refused: novalue},
		"job_vni=TRUE":  {others: core.Request{JobVNI: true}, refused: novalue},
		"job_vni=0":     {refused: novalue},
		"job_vni=False": {refused: novalue},
		"job_vni=maybe": {refused: novalue, said: `bad-request job_vni: "maybe" is neither true nor false; write job_vni`},
		"res_tles=0":    {others: core.Request{Limits: limit(core.TLE, core.LimitRequest{Reserved: u16(0)})}},
		"max_cts=5 res_cts=6": {
			slurm: core.Request{
				Limits:   limit(core.CT, core.LimitRequest{Reserved: u16(5), Max: u16(5)}),
				Warnings: []string{"res_cts: more than the maximum that was asked for, so Weft lowers it"},
			},
			said: "bad-request res_cts: 6 is more than max_cts, which is 5; lower it, or raise max_cts",
		},
		"off max_cts=5 res_cts=6": {
			slurm: core.Request{Off: true, Warnings: []string{
				"res_cts: more than the maximum that was asked for, so Weft lowers it",
				"off: the job gets no VNI and no service; Weft ignores max_cts, res_cts",
			}},
			said: "bad-request res_cts: 6 is more than max_cts, which is 5; lower it, or raise max_cts",
		},
	} {
		for scheduler := range adapters {
			request, says := want.others, want.said
			if scheduler == "slurm" {
				request, says = want.slurm, want.refused
			}
			got, refused := parse(t, scheduler, strings.Fields(words))
			if diff := cmp.Diff(request, got); diff != "" || refused != says {
				t.Errorf("%s: %s: %q, want %q; (-want +got):\n%s", scheduler, words, refused, says, diff)
			}
		}
	}
}

// Whatever is put together means the same to all.
func TestOneMeaningOfAnything(t *testing.T) {
	var known []string
	for _, o := range options(t, "local") {
		known = append(known, o.Names...)
	}
	value := rapid.SampledFrom([]string{
		"", "=", "=1", "=2", "=5", "=64", "=2000", "=70000", "=LOW_LATENCY", "=BULK_DATA:BEST_EFFORT", "=FAST",
	})
	flag := slices.DeleteFunc(options(t, "local"), func(o core.Option) bool { return o.Value != "" })
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			name := rapid.SampledFrom(known).Draw(t, "name")
			if slices.ContainsFunc(flag, func(o core.Option) bool { return slices.Contains(o.Names, name) }) {
				return name
			}
			return name + value.Draw(t, "value")
		}), 0, 6).Draw(t, "words")
		want, refused := parse(t, "local", words)
		for scheduler := range adapters {
			got, said := parse(t, scheduler, words)
			if scheduler == "slurm" && strings.Contains(refused, "is more than max_") { // it lowers what is reserved
				if said != "" || len(got.Warnings) == 0 {
					t.Fatalf("%q: %q, warnings %q", words, said, got.Warnings)
				}
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" || said != refused {
				t.Fatalf("%s: %q: %s%q, want %q", scheduler, words, diff, said, refused)
			}
		}
	})
}

func options(t *testing.T, scheduler string) []core.Option {
	all, err := adapters[scheduler].Options(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each option has an example that its adapter takes, and a sentence. No name begins with another, since
// switch/hpe_slingshot compares beginnings.
func TestOptions(t *testing.T) {
	for scheduler, a := range adapters {
		all := options(t, scheduler)
		if len(all) != 10+3*int(core.NumResources) {
			t.Errorf("%s: it has %d options", scheduler, len(all))
		}
		var names []string
		for _, o := range all {
			names = append(names, o.Names...)
			r, err := a.ParseRequest(t.Context(), []string{o.Example})
			idle := strings.HasPrefix(o.Help, "no effect: ")
			if err != nil || o.Help == "" || o.Idle != (len(r.Warnings) > 0) || o.Idle != idle {
				t.Errorf("%s: %+v: %+v, %v", scheduler, o, r, err)
			}
			if !strings.HasPrefix(o.Help, "accepted: ") && cmp.Equal(r, core.Request{}) {
				t.Errorf("%s: %s: it asks for nothing and does not say so", scheduler, o.Example)
			}
		}
		for i, n := range names {
			for k, m := range names {
				if i != k && strings.HasPrefix(m, n) {
					t.Errorf("%s: %s begins %s", scheduler, n, m)
				}
			}
		}
	}
}

func FuzzParseText(f *testing.F) {
	for _, s := range []string{
		"", "tcs=BULK_DATA:X", "job_vni,depth=3", "max_txqs=1,res_txqs=2", "no_vni,hwcoll", "a\nb", "=,=",
		"x.off=1,x.vnis=2", "x.max_", strings.Repeat("\xa5", 600), // the last one's refusal was longer than a line may be
	} {
		f.Add(s)
	}
	dialects := []request.Dialect{{Command: "--x="}, {Command: "-o ", Prefix: "x."}, {Command: "--n=", Plugin: true}}
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range dialects {
			r, err := d.ParseText(text)
			if err != nil {
				e := core.AsError(err)
				if e.Reason != core.BadRequest || len(e.Line()) > 2000 || strings.ContainsAny(e.Line(), "\n\x1b") {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			warnings := r.Warnings
			r.Warnings = nil
			if r.VNIs < 0 || r.VNIs > core.MaxVNIs || r.Depth < 0 || r.Depth > request.MaxDepth ||
				r.Classes&^core.AllClasses != 0 || len(warnings) > 4 {
				t.Errorf("%q: %+v", text, r)
			}
			if r.Off && !cmp.Equal(r, core.Request{Off: true}) {
				t.Errorf("%q is off and asks: %+v", text, r)
			}
			for _, l := range r.Limits {
				if l.Reserved != nil && l.Max != nil && *l.Reserved > *l.Max {
					t.Errorf("%q reserves %d of at most %d", text, *l.Reserved, *l.Max)
				}
			}
		}
	})
}
