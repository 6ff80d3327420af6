package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

var schema = core.Schema{Fields: []core.Field{
	{Name: "url", Kind: core.KindString, Required: true, Doc: "Where the fabric manager is."},
	{Name: "retries", Kind: core.KindInt, Default: int64(3)},
	{Name: "verify", Kind: core.KindBool, Default: true},
	{Name: "timeout", Kind: core.KindDuration, Default: 5 * time.Second},
	{Name: "users", Kind: core.KindStrings},
	{Name: "client", Kind: core.KindBlocks, Labels: 1, Block: core.Schema{Fields: []core.Field{{Name: "port", Kind: core.KindInt, Required: true}}}},
}}

func driver(t *testing.T, block string) config.Plugin {
	t.Helper()
	c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte("nodes = \"n1\"\npool \"a\" { vnis = \"20\" }\nscheduler \"local\" \"l\" {}\n" + block)})
	if findings != nil {
		t.Fatal(findings)
	}
	return c.Drivers[0]
}

func TestDecode(t *testing.T) {
	values, findings := driver(t, `driver "fm" {
  in_process = true
  url        = "https://fm"
  retries    = -1
  timeout    = "250ms"
  users      = ["a", "b"]
  client "x" { port = 1 }
  client "y" { port = 2 }
}
`).Decode(schema)
	if findings != nil {
		t.Fatal(findings)
	}
	want := core.Values{
		"url": "https://fm", "retries": int64(-1), "verify": true, "timeout": 250 * time.Millisecond, "users": []string{"a", "b"},
		"client": []core.Values{{"label0": "x", "port": int64(1)}, {"label0": "y", "port": int64(2)}},
	}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
	values, findings = driver(t, `driver "fm" { url = "" }`).Decode(schema)
	want = core.Values{"url": "", "retries": int64(3), "verify": true, "timeout": 5 * time.Second, "users": []string(nil), "client": []core.Values(nil)}
	if diff := cmp.Diff(want, values); diff != "" || findings != nil {
		t.Error(diff, findings)
	}
}

func TestDecodeFindings(t *testing.T) {
	for name, block := range map[string]string{
		"plugin-typo":  "driver \"fm\" {\n  urll = \"x\"\n  clinet \"a\" {}\n}\n",
		"plugin-types": "driver \"fm\" {\n  url = 3\n  retries = 1.5\n  verify = \"true\"\n  timeout = 5\n  users = \"a\"\n  client \"x\" { port = \"1\" }\n}\n",
		"plugin-block": "driver \"fm\" {\n  url = \"x\"\n  client {}\n  client \"a\" {\n    pord = 1\n  }\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, findings := driver(t, block).Decode(schema)
			golden(t, name, findings)
		})
	}
}

func TestComplain(t *testing.T) {
	p := driver(t, `driver "fm" {
  url   = "https://fm"
  users = ["a",
    "b"]
  client "x" { port = 1 }
  client "y" {
    port = 2
  }
}
`)
	because := errors.New("because")
	for _, c := range []struct {
		path []string
		at   string
	}{
		{nil, "4:1 driver \"fm\" {"},
		{[]string{"url"}, "5:11   url   = \"https://fm\""},
		{[]string{"users", "1"}, "7:5     \"b\"]"},
		{[]string{"users", "9"}, "6:11   users = [\"a\","},
		{[]string{"client"}, "8:3   client \"x\" { port = 1 }"},
		{[]string{"client", "1", "port"}, "10:12     port = 2"},
		{[]string{"client", "1", "label0"}, "9:10   client \"y\" {"},
		{[]string{"client", "1", "gone"}, "9:3   client \"y\" {"},
		{[]string{"client", "-1", "port"}, "4:1 driver \"fm\" {"},
		{[]string{"retries"}, "4:1 driver \"fm\" {"},
	} {
		findings := p.Complain(&core.PathError{Path: c.path, Err: because})
		if len(findings) != 1 {
			t.Fatalf("%v: %+v", c.path, findings)
		}
		f := findings[0]
		if f.Snippet == "" || !strings.HasPrefix(c.at, fmt.Sprintf("%d:%d ", f.Line, f.Column)) || !strings.HasSuffix(c.at, f.Snippet) {
			t.Errorf("%v: %d:%d %s, want %s", c.path, f.Line, f.Column, f.Snippet, c.at)
		}
		if f.Summary != `driver "fm": because` {
			t.Errorf("summary %q", f.Summary)
		}
	}
	both := errors.Join(&core.PathError{Path: []string{"url"}, Err: because}, core.Errorf(core.BadConfig, "x").WithRemedy("do y"))
	if findings := p.Complain(both); len(findings) != 2 || findings[0].Detail != "do y" {
		t.Errorf("%+v", findings)
	}
	if p.Complain(nil) != nil {
		t.Error("nil is a complaint")
	}
}

func TestNoType(t *testing.T) {
	f := driver(t, "driver \"cxl\" {}\n").NoType([]string{"sim", "cxi"})
	if f.Suggestion != "cxi" || f.Line != 4 || f.Column != 8 {
		t.Errorf("%+v", f)
	}
	f = driver(t, "driver \"verbs\" {}\n").NoType([]string{"sim", "cxi"})
	if f.Suggestion != "" || !strings.Contains(f.Detail, "cxi, sim") {
		t.Errorf("%+v", f)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add(base + "topology {\n  group \"g0\" { nodes = \"n[1-2]\" }\n}\nservice \"d\" {\n vnis = \"1-2,7\"\n servers = \"d[1-2]\"\n}\nserver { listen = \"a:1\" }\n")
	f.Add(base + "scheduler \"slurm\" \"s\" {\n  alias = { \"nid[1-3]\" = \"n[1-3]\" }\n at = \"n1\"\n}\n")
	f.Add("driver \"fm\" {\n  url = 3\n  retries = 1.5\n  client \"x\" { port = \"1\" }\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, _ := config.Parse(hclfile.Source{Name: "c.hcl", Text: []byte(text)})
		for _, p := range append(c.Drivers, c.Schedulers...) {
			p.Decode(schema)
			p.Names()
			p.Complain(&core.PathError{Path: []string{"client", "0", "port"}, Err: errors.New("x")})
		}
	})
}
