package cases_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/cases"
)

var env = policy.Env{Pools: []string{"jobs"}, Services: []string{"daos"}, Schedulers: []string{"tioga"}, Nodes: "n[1-64]"}

const rules = `
traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
limits          = "l"
vnis            = ["app", "job"]
limits "l" {
  txqs = { reserved = share.cores, max = 100 }
}
vni "app" { pool = "jobs" }
vni "job" { pool = "jobs" }
rule "floor" {
  when        = job.nodes > 8
  floor       = { txqs = 3 }
  min_nics    = 2
  collectives = { addresses = 5 }
}
deny "old" {
  match { nodes = "n1" }
  message = "n1 is old"
  enforce = "dry_run"
}
quota "addresses" {
  per       = "user"
  addresses = 9
  enforce   = "warn"
}
`

func source(name, text string) hclfile.Source { return hclfile.Source{Name: name, Text: []byte(text)} }

func load(t testing.TB) *policy.Policy {
	t.Helper()
	p, findings := policy.Load([]hclfile.Source{source("a.policy.hcl", rules)}, env)
	if p == nil {
		t.Fatal(findings)
	}
	return p
}

// Each attribute that a case can expect tells a job that gets it from one that does not.
func TestEachAttribute(t *testing.T) {
	p := load(t)
	for expect, want := range map[string]string{
		`vnis = ["app", "job"]`: "",
		`vnis = ["app"]`:        `vnis: ["app"], not ["app", "job"]`,
		`vnis = []`:             `vnis: [], not ["app", "job"]`,
		`traffic_classes = ["tc_low_latency", "best_effort"]`: "",
		`traffic_classes = ["BULK_DATA"]`:                     `traffic_classes: ["BULK_DATA"], not ["BEST_EFFORT", "LOW_LATENCY"]`,
		`limits = { txqs = { reserved = 4, max = 100 } }`:     "",
		`limits = { txqs = { reserved = 5, max = 99 } }`:      "txqs.reserved: 5, not 4; txqs.max: 99, not 100",
		`limits = { les = { max = 1 } }`:                      "les.max: 1, not 0",
		`min_nics = 2`:                                        "",
		`min_nics = "all"`:                                    "min_nics: all, not 2",
		`floor = { txqs = 3, les = 0 }`:                       "",
		`floor = { txqs = 4 }`:                                "floor.txqs: 4, not 3",
		`collectives = 5`:                                     "",
		`collectives = 6`:                                     "collectives: 6, not 5",
		`rules = ["floor", "old"]`:                            "",
		`rules = []`:                                          `rules: [], not ["floor", "old"]`,
		`dry_run = ["n1 is old"]`:                             "",
		`dry_run = []`:                                        `dry_run: [], not ["policy: deny \"old\": n1 is old"]`,
		`warnings = ["5 are in use"]`:                         "",
		`deny = ""`:                                           "decision: denied: …  …, not granted",
	} {
		s, findings := cases.Load([]hclfile.Source{source("a_test.policy.hcl", `
case "it" {
  job {
    user  = "ann"
    nodes = 16
    cores = 4
  }
  use "addresses" { addresses = 5 }
  expect { `+expect+` }
}`)})
		if s == nil {
			t.Errorf("%s: %v", expect, findings)
			continue
		}
		r := s.Run(p, env, nil)
		var got []string
		for _, d := range r.Cases[0].Differences {
			got = append(got, d.What+": "+d.Want+", not "+d.Got)
		}
		if strings.Join(got, "; ") != want || r.Cases[0].OK != (want == "") {
			t.Errorf("%s\n got %q\nwant %q", expect, strings.Join(got, "; "), want)
		}
	}
}

func TestCoverage(t *testing.T) {
	s, findings := cases.Load([]hclfile.Source{source("a_test.policy.hcl", "case \"a\" {\n  job { nodes = \"n3\" }\n  expect { min_nics = \"all\" }\n}\ncase \"b\" {\n  job {\n    nodes = 9\n    cores = 3\n  }\n  expect { min_nics = 2 }\n}\n")})
	if s == nil {
		t.Fatal(findings)
	}
	for only, want := range map[string]string{"a": "floor old", "b": "", "": ""} {
		r := s.Run(load(t), env, regexp.MustCompile(only))
		var missed []string
		for _, p := range r.Coverage.Missed {
			missed = append(missed, p.Name)
		}
		if strings.Join(missed, " ") != want || r.Coverage.Reached+len(missed) != r.Coverage.Rules || r.Failed != 0 {
			t.Errorf("%q: %+v", only, r)
		}
	}
}

// What is wrong with a test file is said with its place, all at once, and nothing is run then.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"case \"x\" {\n  expect { mn_nics = 1 }\n}": `did you mean`,
		`cas "x" { }`:                  `there is no block "cas"`,
		`case "x" {}`:                  `it expects nothing`,
		"case \"x\" {\n  expect {}\n}": `it names nothing that could be otherwise`,
		"case \"x\" {\n  expect {\n    deny = \"\"\n    vnis = []\n  }\n}":                                                             `a job that is denied gets nothing`,
		"case \"x\" {\n  expect { limits = { qs = { max = 1 } } }\n}":                                                                  `"qs" is no resource`,
		"case \"x\" {\n  expect { traffic_classes = [\"FAST\"] }\n}":                                                                   `FAST`,
		"case \"x\" {\n  expect { collectives = \"many\" }\n}":                                                                         `collectives: it must be a whole number`,
		"case \"x\" {\n  expect { collectives = job.nodes }\n}":                                                                        `it must be a plain value`,
		"case \"x\" {\n  job { uid = -1 }\n  expect { vnis = [] }\n}":                                                                  `uid: it must be a whole number`,
		"case \"x\" {\n  expect { vnis = [] }\n}\ncase \"x\" {\n  expect { vnis = [] }\n}":                                             `case "x" is given twice`,
		"job { user = 3 }\ncase \"x\" {\n  expect { vnis = [] }\n}":                                                                    `user: it must be a text in quotes`,
		"case \"x\" {\n  expect { limits = { txqs = { reservd = 1 } } }\n}":                                                            `2:21: error: case "x": expect: limits: there is no "reservd" in it`,
		"case \"x\" {\n  expect { limits = { txqs = {} } }\n}":                                                                         `txqs names neither reserved nor max`,
		"case \"x\" {\n  expect { floor = {} }\n}":                                                                                     `name nothing`,
		"case \"x\" {\n  job {\n    request {\n      limits = { txqs = { res = 3 } }\n    }\n  }\n  expect { vnis = [] }\n}":           `4:16: error: case "x": job: request.limits: there is no "res" in it`,
		"case \"x\" {\n  job { shares = [{ nodes = 2, core = 4 }] }\n  expect { vnis = [] }\n}":                                        `there is no "core" in it`,
		"job {\n  cores = \"x\"\n  usr = \"a\"\n}\ncase \"x\" {\n  expect { vnis = [] }\n}\ncase \"y\" {\n  expect { mn_nics = 1 }\n}": `a_test.policy.hcl:2:11: error: job: cores: it must be a whole number`,
		`case "x" {`: `error: `,
	} {
		s, findings := cases.Load([]hclfile.Source{source("a_test.policy.hcl", text)})
		var said strings.Builder
		_ = hclfile.Text(&said, findings, false)
		if s != nil || !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "a_test.policy.hcl:") {
			t.Errorf("%s\n%s", text, said.String())
		}
	}
}

// Whatever a test file says, it is run or refused.
func FuzzLoad(f *testing.F) {
	f.Add("job { user = \"ann\" }\ncase \"x\" {\n  use \"addresses\" { vnis = 3 }\n  expect { limits = { txqs = { max = 1 } } }\n}\n")
	f.Add("case \"x\" {\n  job {\n    request { vnis = 2 }\n  }\n  expect { deny = \"no\" }\n}\n")
	p := load(f)
	f.Fuzz(func(t *testing.T, text string) {
		s, findings := cases.Load([]hclfile.Source{source("a_test.policy.hcl", text)})
		if s == nil {
			if !hclfile.Failed(findings) {
				t.Fatal("refused without a word")
			}
			return
		}
		if r := s.Run(p, env, nil); r.Passed+r.Failed != s.Len() {
			t.Fatalf("%+v", r)
		}
	})
}

// A mistake in what all cases share is said once, and does not hide those of the cases.
func TestMistakeInCommonJob(t *testing.T) {
	_, findings := cases.Load([]hclfile.Source{source("a_test.policy.hcl", "job {\n  cores = \"x\"\n  usr   = \"a\"\n}\ncase \"x\" {\n  expect { vnis = [] }\n}\ncase \"y\" {\n  expect { mn_nics = 1 }\n}\n")})
	var lines []int
	for _, f := range findings {
		lines = append(lines, f.Line)
	}
	if want := []int{2, 3, 9, 9}; !slices.Equal(lines, want) {
		t.Errorf("lines %v, not %v: %v", lines, want, findings)
	}
}

// A case for a scheduler that there is not would pass in silence.
func TestCaseNamesAScheduler(t *testing.T) {
	for name, want := range map[string]bool{"tioga": true, "tioja": false} {
		s, findings := cases.Load([]hclfile.Source{source("a_test.policy.hcl", "case \"x\" {\n  job { scheduler = \""+name+"\" }\n  expect { vnis = [\"app\", \"job\"] }\n}\n")})
		if s == nil {
			t.Fatal(findings)
		}
		if r := s.Run(load(t), env, nil); r.Cases[0].OK != want {
			t.Errorf("%s: %+v", name, r.Cases[0])
		}
	}
}
