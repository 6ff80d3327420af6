package health_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/health"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

type files map[string]string // text by path

var now = time.Unix(1_000_000, 0)

// tree is a sysfs with one good NIC.
func tree(t *testing.T) string {
	t.Helper()
	sys := filepath.Join(t.TempDir(), "sys")
	shim.Tree(t, sys, &kernel.R1401, 1, "LL_BE_BD_ET")
	shim.Healthy(t, sys, 0)
	return sys
}

// with gives files another text, and a file whose text is "none" is not there, until the caller calls undo.
func with(t *testing.T, sys string, files files) (undo func()) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var undone []func()
	for _, file := range slices.Sorted(maps.Keys(files)) { // a folder before what is in it
		path, text, mode := filepath.Join(sys, "class/cxi/cxi0/device", file), files[file]+"\n", uint32(0o600)
		switch dir, rest, _ := strings.Cut(file, "/"); dir {
		case "net":
			path = filepath.Join(sys, "class/net/hsn0", rest)
		case "dev":
			path = filepath.Join(sys, "../dev/cxi0")
			_, _ = fmt.Sscanf(text, "%o", &mode)
		}
		away := path + ".away" + fmt.Sprint(len(undone))
		has := os.Rename(path, away) == nil
		if text != "none\n" {
			must(os.MkdirAll(filepath.Dir(path), 0o700))
			must(os.WriteFile(path, []byte(text), 0o600))
			must(os.Chmod(path, os.FileMode(mode)))
		}
		undone = append(undone, func() {
			must(os.RemoveAll(path))
			if has {
				must(os.Rename(away, path))
			}
		})
	}
	return func() {
		for _, f := range slices.Backward(undone) {
			f()
		}
	}
}

// faults are the findings after the state.
func faults(found []core.Finding) (out []string) {
	for _, f := range found[1:] {
		out = append(out, f.What)
	}
	return out
}

// restarts are times of the link's restarts, in seconds before now.
func restarts(ago ...int64) files {
	out := files{}
	for i, s := range ago {
		out[fmt.Sprintf("link_restarts/time_%d", i)] = fmt.Sprint(now.Unix() - s)
	}
	return out
}

// cassini2 is a good Cassini 2, whose port has other files; the values are those of cxi_stat.c (utils, shs-libcxi
// release/shs-14.0.0).
func cassini2(and ...string) files {
	files := files{
		"port": "none", "properties/cassini_version": "2.0", "port/0/link/state": "up", "port/0/link/speed": "ck400G",
		"port/0/llr/state": "running", "port/0/link/config/loopback": "none?", "port/0/media/type": "optical",
		"port/0/link/config/pause_map": "0xff",
	}
	for i := 0; i < len(and); i += 2 {
		files[and[i]] = and[i+1]
	}
	return files
}

// cases are states of a NIC's files, and the faults that they show.
var cases = map[string]struct {
	before, now files
	want        string // part of the one fault; empty: none
	evidence    string
}{
	"good": {},
	"no network device": {
		now:      files{"net/device": "none"},
		want:     "it has no network device",
		evidence: "no device of /sys/class/net is this NIC's",
	},
	"the maker's address": {
		now:      files{"net/addr_assign_type": "0", "net/address": "00:40:a6:82:ef:02"},
		want:     "has no algorithmic address",
		evidence: "addr_assign_type 0, address 00:…",
	},
	"an address that is not set": {now: files{"net/addr_assign_type": "1"}, want: "has no algorithmic address"},
	"a global address": {
		now:  files{"net/address": "00:40:a6:82:ef:02"},
		want: "has no algorithmic address",
	},
	"a multicast address": {
		now:  files{"net/address": "03:00:00:00:01:00"},
		want: "has no algorithmic address",
	},
	"no address at all": {now: files{"net/address": "zz"}, want: "has no algorithmic address"},
	"an address of no known kind": {
		now:      files{"net/addr_assign_type": "none"},
		want:     "has no algorithmic address",
		evidence: "addr_assign_type ?, address 02:…",
	},
	"another local address": {now: files{"net/address": "06:00:00:00:01:00"}},
	// HPE's manual, troubleshoot_ama_mismatch.md (shs-docs): a NIC's MAC 02:00:00:00:03:7c and NID 892 (0x0037c).
	"its port's address": {now: files{"net/address": "02:00:00:00:03:7c", "properties/nid": "0x37c"}},
	"another port's address": {
		now:      files{"net/address": "02:fe:00:00:03:1b", "properties/nid": "0x37c"},
		want:     "another port's: applications hang or fail",
		evidence: "NID 0x0037c, and 0x0031b by the address",
	},
	// cxi_set_nid_from_mac in cass_core.c of shs-cxi-driver, release/shs-14.0.1: the lower 20 bits.
	"bits above the NID's": {now: files{"net/address": "02:00:00:f0:01:00", "properties/nid": "0x100"}},
	"the NID's highest bits": {
		now:  files{"net/address": "02:00:00:01:01:00", "properties/nid": "0x100"},
		want: "another port's",
	},
	"no NID yet":         {now: files{"properties/nid": "0xffffffff"}},
	"a NID that is none": {now: files{"properties/nid": "many"}},
	"min_free_shift": {
		now:      files{"properties/min_free_shift": "8"},
		want:     "min_free_shift is set",
		evidence: "min_free_shift: 8",
	},
	"a closed device": {
		now: files{"dev": "0660"}, want: "users cannot open", evidence: "its mode is 0660",
	},
	"a device that all may execute, too": {now: files{"dev": "0777"}},
	"a slow link": {
		now:      files{"port/speed": "BJ_100G"},
		want:     "its link is slower",
		evidence: "BJ_100G, and the card can BS_200G",
	},
	"a link that is down": {now: files{"port/speed": "NA"}},
	"a narrow bus": {
		now:      files{"current_link_width": "8"},
		want:     "narrower",
		evidence: "x8, and the card can x16",
	},
	"a slow bus": {
		now:      files{"current_link_speed": "8.0 GT/s PCIe"},
		want:     "its PCIe link is slower",
		evidence: "8.0 GT/s PCIe, and the card can 16.0 GT/s PCIe",
	},
	"an extended bus": {
		now: files{"current_link_speed": "8.0 GT/s PCIe", "properties/current_esm_link_speed": "25.0 GT/s"},
	},
	"LLR off": {
		now:      files{"port/link_layer_retry": "off"},
		want:     "link-layer retry is off",
		evidence: "off",
	},
	"loopback": {
		now:      files{"port/loopback": "local"},
		want:     "its port is in loopback",
		evidence: "local",
	},
	"no PFC": {
		now:      files{"port/pause": "none."},
		want:     "priority flow control is off",
		evidence: "none.",
	},
	"four flaps": {now: restarts(1, 2, 3, 3599)},
	"five flaps": {
		now:      restarts(1, 2, 3, 4, 3600),
		want:     "restarts again and again",
		evidence: "restarts: 5 in the last hour, 5 in ten hours",
	},
	"five flaps, one long ago": {now: restarts(1, 2, 3, 4, 3601)},
	"nine flaps in ten hours":  {now: restarts(4000, 4001, 4002, 4003, 4004, 4005, 4006, 4007, 36000, 36001)},
	"ten flaps in ten hours": {
		now:      restarts(4000, 4001, 4002, 4003, 4004, 4005, 4006, 4007, 4008, 36000),
		want:     "restarts again and again",
		evidence: "restarts: 0 in the last hour, 10 in ten hours",
	},
	// 2.125e11 bits a second: 2,125,000 codewords in ten seconds are a rate of 1e-6, from which on HPE's cxiberstat.sh
	// 1.4 lists a node as one with errors.
	"codewords as HPE accepts them": {now: files{"telemetry/hni_pcs_corrected_cw": "2126000@110.000000000"}},
	"a node with errors by HPE": {
		now:  files{"telemetry/hni_pcs_corrected_cw": "2147250@110.000000000"},
		want: "corrects too many codewords", evidence: "bit error rate 1.0e-06",
	},
	"a Cassini 2 at its goal": {before: cassini2(), now: cassini2("telemetry/hni_pcs_corrected_cw", "85001000@110.0")},
	"a Cassini 2 above its goal": {
		before: cassini2(), now: cassini2("telemetry/hni_pcs_corrected_cw", "86001000@110.0"),
		want: "corrects too many codewords", evidence: "bit error rate 2.0e-05",
	},
	"lost codewords": {
		now:      files{"telemetry/hni_pcs_uncorrected_cw": "220@110.000000000"},
		want:     "loses codewords",
		evidence: "bit error rate 1.0e-10",
	},
	// net_diags_cxiberstat.md of shs-docs, release/shs-12.0 to 14.0: a bad run loses four codewords in four seconds.
	"a bad run": {
		now:      files{"telemetry/hni_pcs_uncorrected_cw": "4@104.000000000"},
		want:     "loses codewords",
		evidence: "bit error rate 4.7e-12",
	},
	"one lost codeword in four seconds": {
		now:      files{"telemetry/hni_pcs_uncorrected_cw": "1@104.000000000"},
		want:     "loses codewords",
		evidence: "bit error rate 1.2e-12",
	},
	"one in five":      {now: files{"telemetry/hni_pcs_uncorrected_cw": "1@105.000000000"}},
	"too short a time": {now: files{"telemetry/hni_pcs_uncorrected_cw": "220@103.900000000"}},
	"a counter from anew": {
		before: files{"telemetry/hni_pcs_uncorrected_cw": "9000@100.0"},
		now:    files{"telemetry/hni_pcs_uncorrected_cw": "8000@110.0"},
	},
	"no earlier counter": {
		before: files{"telemetry": "none"},
		now:    files{"telemetry/hni_pcs_uncorrected_cw": "9000@110.0"},
	},
	"a counter that is none": {now: files{"telemetry/hni_pcs_uncorrected_cw": "many@110.0"}},
	"errors that the driver counts": {
		now:      files{"properties/pcie_uncorr_err": "1"},
		want:     "cannot be corrected",
		evidence: "driver's count 1, AER fatal 0",
	},
	"a fatal error": {
		now:      files{"aer_dev_fatal": "DLP 2\nTOTAL_ERR_FATAL 2"},
		want:     "cannot be corrected",
		evidence: "AER fatal 2",
	},
	"a nonfatal error": {
		now:      files{"aer_dev_nonfatal": "DLP 3\nTOTAL_ERR_NONFATAL 3"},
		want:     "the NIC survived",
		evidence: "nonfatal 3",
	},
	"corrected errors": {now: files{"aer_dev_correctable": "BadTLP 9\nTOTAL_ERR_COR 9"}},
	"minutes of corrected errors": {
		now:      files{"properties/pcie_corr_err": "32"},
		want:     "the NIC survived",
		evidence: "corrected in such minutes: 32",
	},
	"Cassini 2": {now: cassini2()},
	"a slow Cassini 2": {
		now:      cassini2("port/0/link/speed", "bs200G"),
		want:     "its link is slower",
		evidence: "bs200G, and the card can CK_400G",
	},
	"a Cassini 2 without LLR": {now: cassini2("port/0/llr/state", "off"), want: "link-layer retry is off"},
	"a Cassini 2 loses": {
		before:   cassini2(),
		now:      cassini2("telemetry/hni_pcs_uncorrected_cw", "430@110.0"),
		want:     "loses codewords",
		evidence: "bit error rate 1.0e-10",
	},
}

// TestChecks has a NIC with one fault each. Every row of the table has a case.
func TestChecks(t *testing.T) {
	shown := map[string]bool{}
	sys := tree(t)
	for name, c := range cases {
		undo := with(t, sys, c.before)
		before := health.Read(sys, "cxi0")
		undo()
		undo = with(t, sys, c.now)
		r := health.Read(sys, "cxi0")
		undo()
		found := r.Judge(before, now)
		for _, f := range found[1:] {
			shown[f.What] = true
		}
		switch {
		case c.want == "":
			if len(found) != 1 || found[0].Severity != core.Good {
				t.Errorf("%s: it shows %q", name, faults(found))
			}
		case len(found) != 2 || !strings.Contains(found[1].What, c.want) ||
			!strings.Contains(found[1].Evidence, c.evidence) || found[1].Severity == core.Good ||
			found[1].Remedy == "":
			t.Errorf("%s: it shows %q, want one with %q, %q", name, found[1:], c.want, c.evidence)
		}
	}
	for _, c := range health.Checks {
		if !shown[c.Fault] {
			t.Errorf("no case has the fault %q", c.Fault)
		}
	}
}

// TestUnknown takes files away: the line names them, and none is a fault.
func TestUnknown(t *testing.T) {
	sys := tree(t)
	for _, c := range []struct {
		files files
		lacks string
	}{
		{files{"properties": "none"}, "Cassini"},
		{files{"port": "none"}, "link, speed, media, LLR, loopback, pause"},
		{files{"uc": "none"}, "firmware"},
		{files{"telemetry": "none"}, "corrected BER, uncorrected BER"},
		{files{"link_restarts": "none"}, "restarts in an hour"},
		{files{"aer_dev_fatal": "none"}, "fatal"},
		{files{"aer_dev_fatal": "many"}, "fatal"},
		{files{"current_link_width": "none"}, "PCIe"},
		{files{"net/address": "none"}, "AMA"},
		{files{"net/operstate": "none"}, "network device"},
		{files{"dev": "none"}, "corrected BER"},
		{files{"net/../../net": "none"}, "AMA, network device, MTU"},
	} {
		undo := with(t, sys, c.files)
		r := health.Read(sys, "cxi0")
		undo()
		found := r.Judge(health.Reading{}, now)
		_, lacks, _ := strings.Cut(found[0].Evidence, "not known: ")
		if len(found) != 1 || !strings.Contains(", "+lacks, ", "+c.lacks) {
			t.Errorf("without %v: it shows %q, and does not know %q; want %q", c.files, faults(found), lacks, c.lacks)
		}
	}
}

// TestState is the line of a good NIC, as cxi_stat shows it.
func TestState(t *testing.T) {
	sys := tree(t)
	before := health.Read(sys, "cxi0")
	with(t, sys, files{
		"telemetry/hni_pcs_corrected_cw": "3188@110.0", "telemetry/hni_pcs_uncorrected_cw": "0@110.0",
		"link_restarts/time_3": fmt.Sprint(now.Unix() - 60),
	})
	r := health.Read(sys, "cxi0")
	want := "Cassini 1.1; AMA yes; network device up; link up; speed BS_200G; MTU 9000; media electrical; LLR on; " +
		"loopback off; pause pfc/802.1qbb; PCIe 16.0 GT/s x16 of 16.0 GT/s x16; firmware 1.5.53; " +
		"AER correctable 0; nonfatal 0; fatal 0; " +
		"restarts in an hour 1; corrected BER 1e-09; uncorrected BER 0e+00"
	if diff := cmp.Diff(want, r.Judge(before, now)[0].Evidence); diff != "" {
		t.Error(diff)
	}
}

// TestUp is libfabric's answer for each state of a network device: netdev_link in prov/cxi/src/cxip_if.c of
// shs-libfabric, release/shs-12.0.0 to 14.0.1.
func TestUp(t *testing.T) {
	sys := tree(t)
	for _, c := range []struct {
		state, carrier string
		up, known      bool
	}{
		{"up", "1", true, true},
		{"up", "0", true, true},
		{"unknown", "1", true, true},
		{"unknown", "0", false, true},
		{"unknown", "none", false, false},
		{"down", "1", false, true},
		{"dormant", "1", false, true},
		{"lowerlayerdown", "0", false, true},
		{"none", "1", false, false},
	} {
		undo := with(t, sys, files{"net/operstate": c.state, "net/carrier": c.carrier})
		n := health.NetworkOf(sys, "cxi0")
		undo()
		if up, known := n.Up(); up != c.up || known != c.known {
			t.Errorf("%s, carrier %s: up %v, known %v", c.state, c.carrier, up, known)
		}
	}
}
