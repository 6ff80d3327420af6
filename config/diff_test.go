package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/hclfile"
)

func TestDiff(t *testing.T) {
	const text = `
nodes = "n[1-4]"
pool "jobs" { vnis = "1024-2047" }
service "daos" {
  vnis    = "5000-5003"
  servers = "daos1"
}
scheduler "local" "local" { jobs_per_user = 4 }
driver "sim" { nics = 4 }
server {
  listen = "127.0.0.1:6464"
}
agent {
  server = "127.0.0.1:6466"
  dir    = "/run/a"
}
`
	tests := []struct {
		old, new      string
		server, agent []string
	}{
		{"", "", nil, nil},
		{`"n[1-4]"`, `"n[1-5]"`, []string{"nodes: in force now"}, []string{"nodes: nothing of the agent's; reload the server too"}},
		{"2047", "4095", []string{`pool "jobs": in force now; reload the agents too`}, []string{`pool "jobs": in force now; reload the server too`}},
		{
			`pool "jobs"`, `pool "work"`,
			[]string{`pool "jobs": in force now; reload the agents too`, `pool "work": in force now; reload the agents too`},
			[]string{`pool "jobs": in force now; reload the server too`, `pool "work": in force now; reload the server too`},
		},
		{
			"daos1", "daos2",
			[]string{`service "daos": in force now; reload the agents too`}, []string{`service "daos": in force now; reload the server too`},
		},
		{"jobs_per_user = 4", "jobs_per_user = 5", []string{`scheduler "local": in force now`}, []string{`scheduler "local": in force now`}},
		{`"local" "local"`, `"local" "other"`, []string{`scheduler "local": needs a restart`, `scheduler "local" "other": needs a restart`},
			[]string{`scheduler "local": needs a restart`, `scheduler "local" "other": needs a restart`}},
		{"nics = 4", "nics = 8", []string{`driver "sim": nothing of the server's; reload the agents too`}, []string{`driver "sim": in force now`}},
		{"nics = 4", "memory = 512", []string{`driver "sim": nothing of the server's; reload the agents too`}, []string{`driver "sim": in force now`}},
		{"nics = 4", "in_process = true", []string{`driver "sim": nothing of the server's; reload the agents too`}, []string{`driver "sim": needs a restart`}},
		{":6464\"\n", ":6465\"\n", []string{"server: listen: needs a restart"}, []string{"server: listen: nothing of the agent's; reload the server too"}},
		{":6466", ":6467", []string{"agent: server: nothing of the server's; reload the agents too"}, []string{"agent: server: in force now"}},
		{`server = "127.0.0.1:6466"`, `servers = ["a:1", "b:1"]`, []string{"agent: server: nothing of the server's; reload the agents too"}, []string{"agent: server: in force now"}},
		{"server {", "server {\netcd { endpoints = [\"unix:///e\"] }", []string{"server: store: needs a restart", "server: witness: needs a restart", "server: etcd: needs a restart"},
			[]string{"server: store: nothing of the agent's; reload the server too", "server: witness: nothing of the agent's; reload the server too",
				"server: etcd: nothing of the agent's; reload the server too"}},
		{"/run/a\"", "/run/a\"\naudit = \"a.log\"", []string{"agent: audit: nothing of the server's; reload the agents too"}, []string{"agent: audit: needs a restart"}},
		{"/run/a", "/run/b", []string{"agent: dir: nothing of the server's; reload the agents too"}, []string{"agent: dir: needs a restart"}},
	}
	for _, tt := range tests {
		a, b := parse(t, text), parse(t, strings.Replace(text, tt.old, tt.new, 1))
		for of, want := range map[config.Daemon][]string{config.OfServer: tt.server, config.OfAgent: tt.agent} {
			if d := cmp.Diff(want, config.Diff(of, a, b)); d != "" {
				t.Errorf("%q for %q (-want +got):\n%s", tt.new, tt.old, d)
			}
			// What needs a restart is said again until there was one, and nothing else.
			var restart []string
			for _, line := range want {
				if strings.HasSuffix(line, "needs a restart") {
					restart = append(restart, line)
				}
			}
			if d := cmp.Diff(restart, config.Diff(of, config.InForce(of, a, b), b)); d != "" {
				t.Errorf("%q for %q, reloaded twice (-want +got):\n%s", tt.new, tt.old, d)
			}
		}
	}
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
	if hclfile.Failed(findings) {
		t.Fatal(findings)
	}
	return c
}

// TestModeNeedsNoRestart sees that every step from observing to serving all jobs, and back, is in force at once.
func TestModeNeedsNoRestart(t *testing.T) {
	site := func(mode string) *config.Config {
		return parse(t, `
nodes = "n[1-4]"
pool "jobs" { vnis = "1024-2047" }
scheduler "slurm" "s" {
`+mode+`
}
driver "sim" {}
`)
	}
	steps := []string{
		`mode = "observe"`,
		"mode = \"observe\"\nenforce {\nnodes = \"n1\"\n}\n",
		"mode = \"observe\"\nenforce {\nqueues = [\"debug\"]\n}\n",
		`mode = "enforce"`, "", `mode = "observe"`,
	}
	serves := []string{"", "n1", "n1 n2", "n1 n2", "n1 n2", ""}
	for i, step := range steps[1:] {
		a, b := site(steps[i]), site(step)
		for _, of := range []config.Daemon{config.OfServer, config.OfAgent} {
			if diff := cmp.Diff([]string{`scheduler "slurm" "s": in force now`}, config.Diff(of, a, b)); diff != "" {
				t.Errorf("from %s to %s: %s", steps[i], step, diff)
			}
			var on []string
			for _, node := range []string{"n1", "n2"} {
				if !config.InForce(of, a, b).Schedulers[0].Observes(node) {
					on = append(on, node)
				}
			}
			if got := strings.Join(on, " "); got != serves[i+1] {
				t.Errorf("%s: jobs are served on %q, not on %q", step, got, serves[i+1])
			}
		}
	}
}
