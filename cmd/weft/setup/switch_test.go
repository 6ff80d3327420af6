package setup

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/plugins/slurm/slingshot"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/cases"
)

const site = "../../../policy/sites/slurm-hpe-slingshot/"

const job = `
job {
  scheduler = "cluster"
  user      = "ann"
  nodes     = 4
  cores     = 64
}
`

// TestSwitchParameters loads the translation of SwitchParameters next to the shipped policy, and decides by both.
func TestSwitchParameters(t *testing.T) {
	pool := regexp.MustCompile(`(?s)pool "jobs" \{.*?\n\}\n`)
	const none, asks = "", "request {\n job_vni = true\n}"
	for _, tt := range []struct{ parameters, job, want string }{
		{"", none, `limits = { txqs = { reserved = 128, max = 1024 } }`},
		{"vnis=0-32767", none, `vnis = ["app"]`},
		{"tcs=BULK_DATA", none, `traffic_classes = ["BULK_DATA"]`},
		{"job_vni", none, `vnis = ["app", "job"]`},
		{"job_vni=all", "request {\n off = true\n}", `vnis = []`},
		{"job_vni=user,tcs=TC_BEST_EFFORT", asks, `vnis = ["app", "job"]`},
		{"job_vni=user", none, `vnis = ["app"]`},
		{"job_vni=none", asks, `deny = "whole job"`},
		{"def_txqs=3", none, `limits = { txqs = { reserved = 192, max = 1024 } }`},
		{"def_les=300", none, `limits = { les = { reserved = 16384, max = 16384 } }`},
		{"res_les=300,max_ptes=100", none,
			`limits = { les = { reserved = 300, max = 16384 }, ptes = { reserved = 100, max = 100 } }`},
		{"def_acs=0,tcs=BULK_DATA", none, `traffic_classes = ["BULK_DATA"]`},
		{"def_acs=1", "cores = 1", `floor = { txqs = 2, tgqs = 1, eqs = 2, ptes = 6, acs = 1 }`},
		{"max_txqs=0,max_tgqs=0,max_eqs=0,max_ptes=0,max_acs=0", none, `limits = { eqs = { reserved = 0, max = 0 } }`},
		{"hwcoll_num_nodes=2,hwcoll_addrs_per_job=5", none, `collectives = 0`},
		{"max_cts=2046", none, `limits = { ` + // all but cts as in site.policy.hcl
			`txqs = { reserved = 128, max = 1024 }, tgqs = { reserved = 64, max = 512 }, ` +
			`eqs = { reserved = 128, max = 2047 }, cts = { reserved = 64, max = 2046 }, ` +
			`tles = { reserved = 64, max = 2048 }, ptes = { reserved = 384, max = 2048 }, ` +
			`les = { reserved = 1024, max = 16384 }, acs = { reserved = 128, max = 1022 } }`},
	} {
		t.Run(tt.parameters, func(t *testing.T) {
			tr := slingshot.Translate(tt.parameters)
			text := pool.ReplaceAllLiteral(read(t, site+"config.hcl"), []byte(tr.Config))
			c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: text})
			if hclfile.Failed(findings) || len(c.Pools) != 1 {
				t.Fatalf("%+v\n%s", findings, text)
			}
			files := []hclfile.Source{{Name: "site.policy.hcl", Text: read(t, site+"site.policy.hcl")}}
			if tr.Policy != "" {
				files = append(files, hclfile.Source{Name: "switch.policy.hcl", Text: []byte(tr.Policy)})
			}
			env := settings.Env(c)
			rules, findings := policy.Load(files, env)
			if len(findings) > 0 {
				t.Fatalf("%+v\n%s", findings, tr.Policy)
			}
			one := "case \"it\" {\n  job {\n" + tt.job + "\n}\n  expect {\n" + tt.want + "\n}\n}\n"
			tests, findings := cases.Load([]hclfile.Source{{Name: "x_test.policy.hcl", Text: []byte(job + one)}})
			if len(findings) > 0 {
				t.Fatalf("%+v", findings)
			}
			report := tests.Run(rules, env, nil)
			for _, c := range report.Cases {
				for _, d := range c.Differences {
					t.Errorf("%s: want %s, got %s", d.What, d.Want, d.Got)
				}
			}
			if report.Passed != len(report.Cases) {
				t.Errorf("%+v\n%s", report.Cases, tr.Policy)
			}
			for _, f := range files {
				if even, findings := hclfile.Format(f); len(findings) > 0 || string(even) != string(f.Text) {
					t.Errorf("%s is not as `weft policy fmt` has it: %+v\n%s", f.Name, findings, even)
				}
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
