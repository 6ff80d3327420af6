package slingshot

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParameters has each parameter with each kind of value: its note, and a line of the written text. After a - the
// text lacks the line.
func TestParameters(t *testing.T) {
	const asIs = `vnis = "1024-65535"`
	for _, tt := range []struct {
		token string
		kind  Kind
		note  string
		line  string
	}{
		{"vnis=10-100", Differs, "but for VNIs 0, 1 and 10", `vnis = "10-100"`},
		{"VNIS=2000-2999", Same, `pool "jobs" has them`, `vnis = "2000-2999"`},
		{"vnis=0-65535", Differs, "no job gets", `vnis = "1-65535"`},
		{"vnis=0-1", Wrong, "none of these VNIs", asIs},
		{"vnis=100-10", Wrong, "the lesser first", asIs},
		{"vnis=10-10", Wrong, "the lesser first", asIs},
		{"vnis=10-65536", Wrong, "from 0 to 65535", asIs},
		{"vnis=10", Wrong, "two numbers", asIs},
		{"vnis", Wrong, "two numbers", asIs},
		{"vnis=+10-20", Wrong, "two numbers", asIs},
		{"vnis_pids=3", Wrong, "no such parameter", asIs},
		{"tcs=tc_bulk_data::BEST_EFFORT", Differs, "BULK_DATA, BEST", `traffic_classes = ["BULK_DATA", "BEST_EFFORT"]`},
		{"tcs=LOW_LATENCY:BEST_EFFORT", Differs, "policy refuses others", "-traffic_classes"},
		{"tcs=ETH", Wrong, `"ETH" is no traffic class`, "-traffic_classes"},
		{"tcs=CXI_TC_BULK_DATA", Wrong, "is no traffic class", "-traffic_classes"},
		{"tcs=:", Wrong, "names no traffic class", "-traffic_classes"},
		{"tcs", Wrong, "names no traffic class", "-traffic_classes"},
		{"job_vni", Same, "every job has a second VNI", "  when = !job.request.off\n"},
		{"job_vni=All", Same, "every job has a second VNI", `vni "job" { pool = "jobs" }`},
		{"job_vni=user", Same, "a job that asks", "  when = job.request.job_vni && !job.request.off\n"},
		{"job_vni=none", Same, "no job has", "-rule"},
		{"job_vni=", Wrong, "all, user or none", "-rule"},
		{"job_vni=yes", Wrong, "all, user or none", "-rule"},
		{"single_node_vni", Same, "a job on one node has a VNI", asIs},
		{"single_node_vni=user", Differs, "has a VNI anyway", asIs},
		{"single_node_vni=none", Differs, "has a VNI anyway", asIs},
		{"single_node_vni=1", Wrong, "all, user or none", asIs},
		{"adjust_limits", Same, "fitted", asIs},
		{"adjust_limits=0", Wrong, "takes no value", asIs},
		{"no_adjust_limits", Differs, "the policy's floor", asIs},
		{"no_adjust_limits=0", Wrong, "takes no value", asIs},
		{"hwcoll_addrs_per_job=26", Differs, "as a comment", asIs},
		{"hwcoll_addrs_per_job=0", Wrong, "from 1", asIs},
		{"hwcoll_num_nodes=64", Differs, "as a comment", asIs},
		{"hwcoll_num_nodes=-1", Wrong, "from 1", asIs},
		{"hwcoll_num_nodes=64x", Wrong, "from 1", asIs},
		{"destroy_retries=0", Same, "not needed: the agent tries", asIs},
		{"destroy_retries=", Wrong, "from 0 to 4294967295", asIs},
		{"destroy_retries=4294967296", Wrong, "from 0", asIs},
		{"nic_distribution_count=2", Differs, "not needed: a job has a service", asIs},
		{"nic_distribution_count=0", Wrong, "from 1 to 65535", asIs},
		{"nic_distribution_count=65536", Wrong, "from 1 to 65535", asIs},
		{"fm_url=https://u:secret@fm", Differs, "asks no fabric manager", "-secret"},
		{"fm_url", Wrong, "it has no value", asIs},
		{"fm_auth=oauth", Differs, "asks no fabric manager", asIs},
		{"fm_auth=NONE", Wrong, "BASIC or OAUTH", asIs},
		{"fm_authdir=/etc/a", Differs, "asks no fabric manager", asIs},
		{"fm_authdir_ctld=/etc/a", Differs, "asks no fabric manager", asIs},
		{"fm_mtls_ca=/a", Differs, "asks no fabric manager", asIs},
		{"fm_mtls_cert=/a", Differs, "asks no fabric manager", asIs},
		{"fm_mtls_key=/a", Differs, "asks no fabric manager", asIs},
		{"fm_mtls_url=/a", Differs, "asks no fabric manager", asIs},
		{"jlope_url=x", Differs, "Instant On", asIs},
		{"jlope_auth=BASIC", Differs, "Instant On", asIs},
		{"jlope_authdir=/x", Differs, "Instant On", asIs},
		{"def_txqs=4", Same, "4 for each", "  txqs = { reserved = 4 * share.cores, ask = 8 * share.cores, max = 1024 }\n"},
		{"def_tles=0", Same, "0 for each core", "  tles = { reserved = 0, ask = 2 * share.cores, max = 2048 }\n"},
		{"def_les=100", Same, "100 for", "= min(100 * share.cores, 16384), ask = min(200 * share.cores, 16384), max"},
		{"def_les=40", Same, "40 for", "{ reserved = 40 * share.cores, ask = min(80 * share.cores, 16384), max"},
		{"def_ptes=2", Same, "2 for", "  floor  = { txqs = 2, tgqs = 1, eqs = 2, ptes = 2, acs = 2 }\n"},
		{"def_acs=0", Same, "0 for", "  floor  = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6 }\n"},
		{"def_acs=4", Same, "4 for", "-floor"},
		{"res_ptes=96", Same, "96 on a node", "  ptes = { reserved = 96, ask = 192, max = 2048 }\n"},
		{"res_ptes=0", Same, "0 leaves it to def_ptes", "-rule"},
		{"res_eqs=1", Same, "1 on a node", "  floor  = { txqs = 2, tgqs = 1, eqs = 1, ptes = 6, acs = 2 }\n"},
		{"max_cts=5", Same, "at most 5", "  cts  = { reserved = 1 * share.cores, ask = 2 * share.cores, max = 5 }\n"},
		{"max_tgqs=0", Same, "at most 0", "  floor  = { txqs = 2, eqs = 2, ptes = 6, acs = 2 }\n"},
		{"max_acs=1023", Wrong, "from 0 to 1022", "-rule"},
		{"res_txqs=1025", Wrong, "from 0 to 1024", "-rule"},
		{"def_txqs=-1", Wrong, "from 0 to 1024", "-rule"},
		{"def_txqs=4294967297", Wrong, "from 0 to 1024", "-rule"},
		{"def_txqs", Wrong, "from 0 to 1024", "-rule"},
		{"DEF_txqs=2", Wrong, "no such parameter", "-rule"},
		{"def_TXQ=2", Wrong, "no such parameter", "-rule"},
		{"min_txqs=2", Wrong, "no such parameter", "-rule"},
		{"depth=4", Wrong, "no such parameter", asIs},
		{" tcs=BULK_DATA", Wrong, "no such parameter", "-traffic_classes"},
	} {
		t.Run(tt.token, func(t *testing.T) {
			tr := Translate("," + tt.token + ",")
			name, _, _ := strings.Cut(tt.token, "=")
			if len(tr.Notes) != 1 || tr.Notes[0].Name != name {
				t.Fatalf("%+v", tr.Notes)
			}
			if n := tr.Notes[0]; n.Kind != tt.kind || !strings.Contains(n.What, tt.note) {
				t.Errorf("%d %q", n.Kind, n.What)
			}
			line, absent := strings.CutPrefix(tt.line, "-")
			if written := tr.Config + tr.Policy; strings.Contains(written, line) == absent {
				t.Errorf("%q\n%s", tt.line, written)
			}
		})
	}
}

// TestTranslate shows a whole translation. The last of two values counts, and a wrong one leaves the others.
func TestTranslate(t *testing.T) {
	tr := Translate("vnis=1-2,vnis=1024-32767,tcs=BULK_DATA:BEST_EFFORT,job_vni=user,single_node_vni,destroy_retries=10," +
		"def_ptes=3,res_les=256,max_acs=500,hwcoll_addrs_per_job=26,hwcoll_num_nodes=64,vnis=x")
	var got strings.Builder
	got.WriteString(tr.Config + "--\n" + tr.Policy + "--\n")
	for _, n := range tr.Notes {
		fmt.Fprintf(&got, "%d %s: %s\n", n.Kind, n.Name, n.What)
	}
	want, err := os.ReadFile("testdata/whole")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
	if none := Translate(""); none.Policy != "" || len(none.Notes) > 0 || !strings.Contains(none.Config, "1024-65535") {
		t.Errorf("%+v", none)
	}
}

func FuzzTranslate(f *testing.F) {
	f.Add("vnis=10-100,tcs=LOW_LATENCY," +
		"job_vni=user,def_les=9,res_les=3,max_les=0,fm_url=x,hwcoll_num_nodes=2,,=,\x00\"${x}")
	f.Fuzz(func(t *testing.T, text string) {
		tr := Translate(text)
		tokens := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
		if len(tr.Notes) != len(tokens) {
			t.Errorf("%d notes of %d parameters", len(tr.Notes), len(tokens))
		}
		// Outside text reaches neither file.
		if bad := strings.Trim(tr.Config+tr.Policy, " !\"#%&'()*+,-./:;=<>[]_{}\n"+
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"); bad != "" || strings.Contains(tr.Policy, "${") {
			t.Errorf("%q", bad)
		}
		for _, n := range tr.Notes {
			if len(n.Name) > 70 || len(n.What) > 300 || n.What == "" {
				t.Errorf("%+v", n)
			}
		}
	})
}
