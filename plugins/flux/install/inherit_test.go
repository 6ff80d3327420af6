package install

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInherited gives a job of an instance that Weft does not serve the variables of its broker on this node. It does
// not matter who started the instance, or at which level. The shell does not ask weft-hook, which would refuse the job.
func TestInherited(t *testing.T) {
	h := newHost(t, "echo 'print weft: this node holds nothing for it'; exit 1")
	plain := []string{
		"SLINGSHOT_DEVICES=cxi0,cxi1", "SLINGSHOT_SVC_IDS=7,9", "SLINGSHOT_TCS=0xa", "SLINGSHOT_VNIS=1024,1030",
	}
	served := append(slices.Clip(plain), "WEFT_FROM=ƒ2")
	first := []string{"SLINGSHOT_SVC_IDS=1,1", "SLINGSHOT_VNIS=1024,1030"}
	for name, c := range map[string]struct {
		process []string // the environment of the shell, a copy of the first broker's
		broker  []string
		path    string
		want    []string
	}{
		"a job of flux alloc":              {nil, plain, "/ƒ2/ƒ9", plain},
		"flux start in flux alloc":         {nil, served, "/ƒ9", served},
		"three levels":                     {nil, plain, "/ƒ2/ƒ3/ƒ4/ƒ9", plain},
		"another node than the first":      {first, plain, "/ƒ2/ƒ9", plain},
		"Slurm":                            {[]string{"SLURM_JOB_ID=77"}, plain, "/ƒ9", plain},
		"a job within one under Slurm":     {[]string{"SLURM_JOB_ID=77"}, plain, "/ƒ2/ƒ9", plain},
		"PBS":                              {[]string{"PBS_JOBID=5.pbs"}, plain, "/ƒ9", plain},
		"weft run":                         {[]string{"WEFT_JOB=n1.5"}, plain, "/ƒ9", plain},
		"PALS":                             {[]string{"PALS_APID=x"}, plain, "/ƒ9", plain},
		"a user's own variable":            {nil, []string{"SLINGSHOT_VNIS=77"}, "/ƒ9", []string{"SLINGSHOT_VNIS=77"}},
		"nobody":                           {nil, nil, "/ƒ9", nil},
		"a Slurm without Weft":             {[]string{"SLURM_JOB_ID=5"}, nil, "/ƒ9", nil},
		"another user's instance":          {[]string{"BROKER=guest"}, nil, "/ƒ9", nil},
		"a Flux without its module of Lua": {[]string{"BROKER=none"}, nil, "/ƒ9", nil},
		"collectives": {
			nil, []string{"FI_CXI_COLL_JOB_ID=c7", "FI_CXI_COLL_JOB_STEP_ID=/ƒ1", "SLINGSHOT_VNIS=77"}, "/ƒ2/ƒ9",
			[]string{"FI_CXI_COLL_JOB_ID=c7", "FI_CXI_COLL_JOB_STEP_ID=/ƒ2/ƒ9", "SLINGSHOT_VNIS=77"},
		},
	} {
		job := []string{"FLUX_JOB_ID=ƒ9", "FLUX_JOB_ID_PATH=" + c.path}
		process := append([]string{innerURI}, c.process...)
		for _, v := range c.broker {
			process = append(process, "BROKER_"+v)
		}
		stale := []string{
			"SLINGSHOT_SVC_IDS=2,2", "FI_CXI_COLL_MCAST_TOKEN=stale", "FI_CXI_COLL_JOB_STEP_ID=/ƒ1", "WEFT_FROM=ƒ1",
		}
		h.shell(t, "0", process, job, func(t *testing.T, exit int, lines []string) {
			if diff := cmp.Diff(sorted(job, c.want), lines); diff != "" || exit != 0 || h.lines("calls") != nil {
				t.Errorf("%s: exit %d, calls %q: %s", name, exit, h.lines("calls"), diff)
			}
		})
		if c.broker == nil {
			continue
		}
		h.shell(t, "0", process, append(stale, job...), func(t *testing.T, exit int, lines []string) {
			if diff := cmp.Diff(sorted(job, c.want), lines); diff != "" || exit != 0 {
				t.Errorf("%s, from a shell that carried others: exit %d: %s", name, exit, diff)
			}
		})
	}
}

func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}

// TestABrokerThatDoesNotTell leaves the job without the network that its instance has, and says so.
func TestABrokerThatDoesNotTell(t *testing.T) {
	h := newHost(t, "exit 1")
	for broker, says := range map[string]string{"guest": "Operation not permitted", "none": "module 'flux' not found"} {
		process := []string{innerURI, "BROKER=" + broker, "SLINGSHOT_VNIS=1024"}
		h.shell(t, "0", process, []string{"FLUX_JOB_ID=ƒ9"}, func(t *testing.T, exit int, lines []string) {
			const begins = "log weft: warning: this job lacks its instance's network, which the broker does not tell: "
			if exit != 0 || !strings.HasPrefix(lines[0], begins+says) {
				t.Errorf("%s: exit %d: %q", broker, exit, lines)
			}
		})
	}
}

// TestOptionsWithin an instance that has its network already: each is obeyed, or refused by its name.
func TestOptionsWithin(t *testing.T) {
	h := newHost(t, "exit 1")
	const off, refused, all = "off", "refused", "1024,1030 0xa"
	for option, want := range map[string]string{ // VNIs and classes
		"slingshot=off": off, "slingshot.off=1": off, "slingshot.off=true": off, "slingshot.no_vni=1": off,
		"cray-slingshot=off": off, "cray-slingshot.vnicount=0": off, "cray-slingshot=vnicount=0": off,

		"slingshot.off=0": all, "slingshot.vnis=2": all, "cray-slingshot=vnicount=2": all,
		"slingshot.vnis=1": "1024 0xa", "slingshot=vnis=1": "1024 0xa", "cray-slingshot.vnicount=1": "1024 0xa",
		"slingshot.tcs=LOW_LATENCY":                                       "1024,1030 0x2",
		"slingshot.classes=tc_best_effort:LOW_LATENCY:CXI_TC_LOW_LATENCY": all,

		"slingshot.vnis=3": refused, "slingshot.vnis=0": refused, "slingshot.vnis=1.5": refused,
		"slingshot.vnis=x": refused, "slingshot.tcs=BULK_DATA": refused, "slingshot.tcs=FAST": refused,
		"slingshot.tcs=LOW_LATENCY:": refused, "slingshot.off=maybe": refused, "slingshot.bogus=1": refused,
		"slingshot.hwcoll=1": refused, "slingshot=bogus": refused,
		"cray-slingshot.vnicount=3": refused, "cray-slingshot.bogus=2": refused, "cray-slingshot=on": refused,
	} {
		process := []string{
			innerURI, "BROKER_SLINGSHOT_VNIS=1024,1030", "BROKER_SLINGSHOT_TCS=0xa", "BROKER_SLINGSHOT_SVC_IDS=7,9",
		}
		job := []string{"FLUX_JOB_ID=ƒ9", "SLINGSHOT_VNIS=5", "-o " + option}
		h.shell(t, "0", process, job, func(t *testing.T, exit int, lines []string) {
			got := off
			if exit != 0 {
				got = lines[0]
			} else if len(lines) > 1 {
				got = strings.TrimPrefix(lines[3], "SLINGSHOT_VNIS=") + " " + strings.TrimPrefix(lines[2], "SLINGSHOT_TCS=")
			}
			if want == refused {
				want = "die weft: option -o " + option + ": the instance around this job has VNIs 1024,1030 and classes 0xa: " +
					"ask for it with the job that starts the instance; within it ask for off, fewer vnis or fewer tcs"
			}
			if got != want {
				t.Errorf("-o %s: exit %d: %q, want %q", option, exit, lines, want)
			}
		})
	}
	for option, want := range map[string]int{ // next to off
		"slingshot.vnis=3": 0, "cray-slingshot.vnicount=4": 0, "slingshot.tcs=BULK_DATA": 0,
		"slingshot.vnis=9": 1, "slingshot.tcs=FAST": 1, "slingshot.bogus=1": 1,
	} {
		process := []string{innerURI, "BROKER_SLINGSHOT_VNIS=1024,1030", "BROKER_SLINGSHOT_TCS=0xa"}
		job := []string{"FLUX_JOB_ID=ƒ9", "SLINGSHOT_VNIS=5", "-o " + option, "-o slingshot.off=1"}
		h.shell(t, "0", process, job, func(t *testing.T, exit int, lines []string) {
			if exit != want || (want == 0) != (strings.Join(lines, " ") == "FLUX_JOB_ID=ƒ9") {
				t.Errorf("-o %s next to off: exit %d: %q", option, exit, lines)
			}
		})
	}
	job := []string{"FLUX_JOB_ID=ƒ9", "-o slingshot.vnis=1"}
	h.shell(t, "0", []string{innerURI}, job, func(t *testing.T, exit int, lines []string) {
		const says = "die weft: option -o slingshot.vnis=1: the instance around this job has no VNI: "
		if exit != 1 || !strings.HasPrefix(lines[0], says) {
			t.Errorf("where nobody has a network: exit %d: %q", exit, lines)
		}
	})
}

// TestOfTwoNumbersTheSecondCounts has a job that asks by both words, as one of the instance that Weft serves may.
func TestOfTwoNumbersTheSecondCounts(t *testing.T) {
	h := newHost(t, "exit 1")
	for _, c := range []struct{ vnis, vnicount, want string }{{"3", "2", "1,2,3"}, {"2", "3", "1,2"}, {"1", "4", "1"}} {
		process := []string{innerURI, "BROKER_SLINGSHOT_VNIS=1,2,3,4"}
		job := []string{"FLUX_JOB_ID=ƒ9", "-o cray-slingshot.vnicount=" + c.vnicount, "-o slingshot.vnis=" + c.vnis}
		h.shell(t, "0", process, job, func(t *testing.T, exit int, lines []string) {
			want := []string{"FLUX_JOB_ID=ƒ9", "SLINGSHOT_VNIS=" + c.want}
			if diff := cmp.Diff(want, lines); diff != "" || exit != 0 {
				t.Errorf("vnis=%s and vnicount=%s: exit %d: %s", c.vnis, c.vnicount, exit, diff)
			}
		})
	}
}
