package config_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/hclfile"
)

var update = flag.Bool("update", false, "write the golden files anew")

var plain = cmpopts.IgnoreUnexported(config.Plugin{})

func TestShipped(t *testing.T) {
	c, findings := config.Load("../config.hcl")
	if findings != nil {
		t.Fatalf("findings: %+v", findings)
	}
	text, err := os.ReadFile("../config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		File: "../config.hcl", Hash: fmt.Sprintf("%x", sha256.Sum256(text)), Nodes: "n[1-4]", NodeCount: 4, Policy: "../policy",
		Pools:      []config.Pool{{Name: "jobs", VNIs: []allocator.Range{{First: 1024, Last: 65535}}, Quarantine: time.Minute}},
		Schedulers: []config.Plugin{{Kind: "scheduler", Type: "local", Name: "local"}},
		Drivers:    []config.Plugin{{Kind: "driver", Type: "sim", Name: "sim"}},
		Server:     config.Server{Socket: "/run/weft/server.sock", Store: "/var/lib/weft/server.db", Witness: "/var/cache/weft/server.head", Unwitnessed: "wait", TLS: config.DefaultTLS},
		Agent:      config.Agent{Dir: "/run/weft/agent", TLS: config.DefaultTLS},
	}
	if diff := cmp.Diff(want, c, plain); diff != "" {
		t.Error(diff)
	}
	if _, err := allocator.New(c.Allocator()); err != nil {
		t.Errorf("the allocator refuses the pools: %v", err)
	}
	values, findings := c.Drivers[0].Decode(core.Schema{Fields: []core.Field{{Name: "nics", Kind: core.KindInt}, {Name: "state", Kind: core.KindString, Default: "x"}}})
	if diff := cmp.Diff(core.Values{"nics": int64(4), "state": "x"}, values); diff != "" || findings != nil {
		t.Error(diff, findings)
	}
}

const base = `nodes = "n[1-4]"
pool "jobs" { vnis = "1024-2047" }
scheduler "local" "local" {}
driver "sim" {}
`

func TestFindings(t *testing.T) {
	for name, text := range map[string]string{
		"empty":        "",
		"typo":         base + "polcy = \"p\"\nsrever {}\nserver {\n  lisen = \"a:1\"\n}\n",
		"twice":        base + "nodes = \"n2\"\npolcy = \"p\"\n",
		"vni-range":    "nodes = \"n1\"\npool \"a\" { vnis = \"0-70000\" }\nscheduler \"local\" \"l\" {}\ndriver \"sim\" {}\n",
		"overlap":      base + "pool \"b\" {\n  vnis = \"3000,2000-2100\"\n}\nservice \"daos\" {\n  vnis = \"1024-1025\"\n  servers = \"d[1-2]\"\n}\n",
		"default-vnis": base + "pool \"b\" { vnis = \"1-100\" }\npool \"c\" { vnis = \"1,10\" }\n",
		"same-name":    base + "service \"jobs\" {\n  vnis = \"4000\"\n  servers = \"d1\"\n}\nscheduler \"slurm\" \"local\" {}\ndriver \"sim\" {}\n",
		"quarantine":   base + "pool \"b\" {\n  vnis = \"4000\"\n  quarantine = \"0s\"\n}\npool \"c\" {\n  vnis = \"4001\"\n  quarantine = 60\n}\n",
		"names":        base + "pool \"../x\" { vnis = \"4000\" }\nscheduler \"slurm\" \"\\n\" {}\n",
		"ambiguous":    base + "scheduler \"slurm\" \"flux\" {}\nscheduler \"flux\" \"f\" {}\n",
		"at":           base + "scheduler \"flux\" \"f\" { at = \"n9\" }\n",
		"alias":        base + "scheduler \"slurm\" \"s\" {\n  alias = { \"nid[1-3]\" = \"n[1-2]\", \"x1\" = \"n7\", \"x1\" = \"n1\" }\n}\n",
		"alias-twice":  base + "scheduler \"slurm\" \"s\" {\n  alias = { \"a\" = \"n1\", \"b\" = \"n1\", \"a,c\" = \"n[2-3]\" }\n}\n",
		"alias-kind":   base + "scheduler \"slurm\" \"s\" {\n  alias = [\"a\"]\n}\n",
		"sum": base + "driver \"lsf\" {\n  command = [\"/opt/weft-lsf\"]\n  sha256 = \"12ab\"\n}\nscheduler \"slurm\" \"s\" {\n  sha256 = \"" + strings.Repeat("0a", 32) + "\"\n" +
			"  auto_mtls = true\n  in_process = true\n}\n",
		"bounds": base + "driver \"lsf\" {\n  command = [\"/opt/weft-lsf\"]\n  memory = 63\n  processes = \"many\"\n}\n" +
			"scheduler \"slurm\" \"s\" {\n  in_process = true\n  memory = 64\n  processes = 65536\n}\n",
		"mode": base + "scheduler \"slurm\" \"s\" {\n  mode = \"watch\"\n  enforce {\n    nodes = \"n1\"\n  }\n}\n" +
			"scheduler \"flux\" \"f\" {\n  mode = \"observe\"\n  enforce {\n    nodes = \"n[1-9]\"\n    queues = []\n    users = \"a\"\n  }\n}\n" +
			"scheduler \"pbs\" \"p\" {\n  mode = \"observe\"\n  enforce {}\n}\nscheduler \"local\" \"l\" {\n  mode = \"observe\"\n}\n",
		"command":     base + "driver \"lsf\" {\n  command = [\"weft-lsf\"]\n  in_process = true\n}\n",
		"address":     base + "server { listen = \"6464\" }\nagent { server = \"h:0\" }\n",
		"store":       base + "server { store = \"\" }\n",
		"unwitnessed": base + "server { unwitnessed = \"never\" }\n",
		"etcd": base + "server {\n  store = \"s.db\"\n  etcd {\n    endpoints = [\"https://e1\", \"https://e2:2379\", \"http://e3:2379\", \"https://e2:2379\"]\n" +
			"    prefix = \"weft\"\n    lease = \"2500ms\"\n    user = \"weft\"\n    pasword = \"x\"\n  }\n}\n",
		"etcd-few":          base + "server {\n  etcd {\n    endpoints = []\n    lease = \"1s\"\n  }\n  etcd {}\n}\n",
		"servers":           base + "agent {\n  server = \"a:1\"\n  servers = [\"a:1\"]\n}\n",
		"servers-twice":     base + "agent { servers = [\"a:1\", \"a\", \"a:1\"] }\n",
		"topology":          base + "topology {\n  group \"g0\" { nodes = \"n[1-2]\" }\n  group \"g1\" { nodes = \"n2\" }\n}\n",
		"dragonfly-both":    base + "topology {\n  groups = 2\n  group \"g0\" { nodes = \"n1\" }\n}\n",
		"dragonfly-missing": base + "topology {\n  groups = 2\n  nodes_per_switch = 2\n}\n",
		"dragonfly-groups":  base + "topology {\n  groups = 512\n  switches_per_group = 1\n  nodes_per_switch = 1\n}\n",
		"dragonfly-large":   base + "topology {\n  groups = 1\n  switches_per_group = 32\n  nodes_per_switch = 17\n  nics_per_node = 1\n}\n",
		"dragonfly-ports":   base + "topology {\n  groups = 1\n  switches_per_group = 1\n  nodes_per_switch = 17\n  nics_per_node = 4\n}\n",
		"dragonfly-room":    base + "topology {\n  groups = 3\n  switches_per_group = 1\n  nodes_per_switch = 1\n  nics_per_node = 1\n}\n",
		"service":           base + "service \"daos\" { servers = \"d1\" }\n",
		"nodes":             strings.Replace(base, "n[1-4]", "n[1-", 1),
		"no-blocks":         "nodes = \"n1\"\n",
		"without-label":     base + "pool { vnis = \"4000\" }\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
			if c == nil || !hclfile.Failed(findings) {
				t.Fatalf("config %v, findings %+v", c, findings)
			}
			for _, f := range findings {
				if f.Line == 0 {
					t.Errorf("%s: it has no line", f.Summary)
				}
			}
			golden(t, name, findings)
		})
	}
}

func golden(t *testing.T, name string, findings []hclfile.Finding) {
	t.Helper()
	var got bytes.Buffer
	if err := hclfile.Text(&got, findings, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, got.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s is not what was found (-want +got):\n%s", path, diff)
	}
}

func TestFull(t *testing.T) {
	c, findings := config.Parse(hclfile.Source{Name: "/etc/weft/config.hcl", Text: []byte(`
nodes  = "n[1-4],login1"
policy = "../policy"
unknown_vnis = 128
topology {
  group "g0" { nodes = "n[1-2]" }
}
pool "jobs" { vnis = "1024-64511" }
pool "small" {
  vnis       = "2,12-20"
  quarantine = "5m"
}
service "daos" {
  vnis    = "64512-65535"
  servers = "daos[01-16]"
}
scheduler "slurm" "tioga" {
  alias = { "nid[001-004]" = "n[1-4]" }
}
scheduler "flux" "el" {
  at         = "login1"
  in_process = true
}
driver "cxi" {}
driver "site" {
  command = ["/opt/site/nic", "--fast"]
}
server {
  listen      = "[::]:6464"
  socket      = "run/server.sock"
  store       = "memory"
  admin_group = "weft-admin"
  tls         = "server-tls"
  metrics     = "127.0.0.1:9464"
  audit       = "log/audit.log"
}
agent {
  server = "weft.example.org:6464"
  dir    = "/run/weft"
  tls    = "/etc/weft/node"
  metrics = "127.0.0.1:9465"
  audit   = "/var/log/weft/agent-audit.log"
}
`)})
	if len(findings) != 0 {
		t.Fatal(findings)
	}
	want := &config.Config{
		File: "/etc/weft/config.hcl", Hash: c.Hash, Nodes: "n[1-4],login1", NodeCount: 5, UnknownVNIs: 128, Policy: "/etc/policy",
		Groups: []config.Group{{Name: "g0", Nodes: "n[1-2]"}},
		Pools: []config.Pool{
			{Name: "jobs", VNIs: []allocator.Range{{First: 1024, Last: 64511}}, Quarantine: time.Minute},
			{Name: "small", VNIs: []allocator.Range{{First: 2, Last: 2}, {First: 12, Last: 20}}, Quarantine: 5 * time.Minute},
		},
		Services: []config.Pool{{Name: "daos", VNIs: []allocator.Range{{First: 64512, Last: 65535}}, Quarantine: time.Minute, Servers: "daos[01-16]"}},
		Schedulers: []config.Plugin{
			{Kind: "scheduler", Type: "slurm", Name: "tioga", Alias: []config.Alias{{Theirs: "nid[001-004]", Ours: "n[1-4]"}}},
			{Kind: "scheduler", Type: "flux", Name: "el", At: "login1", InProcess: true},
		},
		Drivers: []config.Plugin{{Kind: "driver", Type: "cxi", Name: "cxi"}, {Kind: "driver", Type: "site", Name: "site", Command: []string{"/opt/site/nic", "--fast"}}},
		Server:  config.Server{Listen: "[::]:6464", Socket: "/etc/weft/run/server.sock", Store: "memory", Witness: "/var/cache/weft/server.head", Unwitnessed: "wait", AdminGroup: "weft-admin", TLS: "/etc/weft/server-tls", Metrics: "127.0.0.1:9464", Audit: "/etc/weft/log/audit.log"},
		Agent:   config.Agent{Servers: []string{"weft.example.org:6464"}, Dir: "/run/weft", TLS: "/etc/weft/node", Metrics: "127.0.0.1:9465", Audit: "/var/log/weft/agent-audit.log"},
	}
	if diff := cmp.Diff(want, c, plain); diff != "" {
		t.Error(diff)
	}
	names := map[string]string{"nid001": "n1", "nid002": "n2", "nid003": "n3", "nid004": "n4"}
	if diff := cmp.Diff(names, c.Schedulers[0].Names()); diff != "" {
		t.Error(diff)
	}
	if got := c.Quarantines()["small"]; got != 5*time.Minute {
		t.Errorf("quarantine of small: %v", got)
	}
}

func TestEtcd(t *testing.T) {
	c, findings := config.Parse(hclfile.Source{Name: "/etc/weft/config.hcl", Text: []byte(base + `
server {
  name = "weft-a"
  etcd {
    endpoints     = ["http://127.0.0.1:2379", "http://10.0.0.2:2379"]
    prefix        = "/tioga/"
    lease         = "10s"
    tls           = "etcd"
    user          = "weft"
    password_file = "etcd.password"
  }
}
agent { servers = ["a:6464", "b:6464"] }
`)})
	if len(findings) != 1 || findings[0].Severity != hclfile.Warning || !strings.Contains(findings[0].Summary, "without TLS") {
		t.Errorf("findings: %v", findings)
	}
	want := &config.Etcd{
		Endpoints: []string{"http://127.0.0.1:2379", "http://10.0.0.2:2379"}, Prefix: "/tioga/", Lease: 10 * time.Second,
		TLS: "/etc/weft/etcd", User: "weft", PasswordFile: "/etc/weft/etcd.password",
	}
	if diff := cmp.Diff(want, c.Server.Etcd); diff != "" {
		t.Error(diff)
	}
	if c.Server.Store != "" || c.Server.Witness != "" || c.Server.OneFile() || c.Server.Name != "weft-a" {
		t.Errorf("server: %+v", c.Server)
	}
	if diff := cmp.Diff([]string{"a:6464", "b:6464"}, c.Agent.Servers); diff != "" {
		t.Error(diff)
	}
}

func TestMissingFileAndHugeFile(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.hcl")
	if err := os.WriteFile(huge, bytes.Repeat([]byte("# x\n"), 10<<18), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{huge, filepath.Join(dir, "none.hcl")} {
		c, findings := config.Load(path)
		if c == nil || len(findings) != 1 || strings.Contains(findings[0].Summary, "\n") {
			t.Errorf("%s: %+v", path, findings)
		}
	}
}

func TestTooManyBlocks(t *testing.T) {
	var b strings.Builder
	b.WriteString(base)
	for i := range 400 {
		fmt.Fprintf(&b, "pool \"p%d\" { vnis = \"%d\" }\n", i, 3000+i)
	}
	_, findings := config.Parse(hclfile.Source{Name: "c.hcl", Text: []byte(b.String())})
	if len(findings) != 1 || findings[0].Line == 0 {
		t.Errorf("%+v", findings)
	}
}
