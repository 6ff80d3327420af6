package config_test

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/hclfile"
)

// Simulate keeps the file but its daemons, drivers and other schedulers.
func TestSimulate(t *testing.T) {
	text, err := os.ReadFile("../config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "scheduler \"pbs\" \"a\" {\n}\ndriver \"cxi\" {\n}\nservice \"d\" {\n  vnis = \"900-910\"\n}\n"...)
	server := config.Server{
		Name: "a", Listen: "127.0.0.1:1", Socket: "s.sock", TLS: "tls",
		Etcd: &config.Etcd{Endpoints: []string{"unix:///a/b:1"}, Prefix: "/p/", Lease: 3 * time.Second},
	}
	agent := config.Agent{Servers: []string{"127.0.0.1:1", "127.0.0.1:2"}, Dir: "d", TLS: "t"}
	for _, s := range []config.Simulated{
		{Policy: "/p", NICs: 2, State: "/nics", Agent: agent},
		{Policy: "/p", NICs: 2, Quarantine: 2 * time.Second, Server: server},
	} {
		got, findings := config.Parse(hclfile.Source{Name: "x.hcl", Text: config.Simulate(hclfile.Source{Text: text}, s)})
		if hclfile.Failed(findings) {
			t.Fatal(hclfile.AsError(findings))
		}
		if got.Policy != "/p" || got.Nodes != "n[1-4]" || len(got.Pools) != 1 || len(got.Services) != 1 {
			t.Errorf("policy %s, nodes %s, pools %+v, services %+v", got.Policy, got.Nodes, got.Pools, got.Services)
		}
		if len(got.Schedulers) != 1 || got.Schedulers[0].Type != "local" || len(got.Drivers) != 1 {
			t.Errorf("schedulers %+v, drivers %+v", got.Schedulers, got.Drivers)
		}
		if s.Server.Name == "" {
			if diff := cmp.Diff(agent, got.Agent); diff != "" || got.Pools[0].Quarantine != time.Minute {
				t.Errorf("quarantine %v, agent (-want +got):\n%s", got.Pools[0].Quarantine, diff)
			}
			continue
		}
		want := server
		want.Unwitnessed = config.UnwitnessedWait
		if diff := cmp.Diff(want, got.Server); diff != "" || got.Pools[0].Quarantine != 2*time.Second {
			t.Errorf("quarantine %v, server (-want +got):\n%s", got.Pools[0].Quarantine, diff)
		}
	}
}
