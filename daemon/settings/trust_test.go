package settings_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/settings"
)

// The doctor warns of an audit or a history that another user could change, and a daemon starts all the same.
func TestRecordsOfWhatWasDone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user can do no more than itself")
	}
	for _, tt := range []struct {
		of      config.Daemon
		spoiled string
		want    string // empty: nothing
	}{
		{config.OfServer, "audit.log", "the audit depends on it"},
		{config.OfServer, "jobs.jsonl", "the history depends on it"},
		{config.OfServer, "agent.log", ""},
		{config.OfAgent, "agent.log", "the audit depends on it"},
		{config.OfAgent, "jobs.jsonl", ""},
	} {
		dir := t.TempDir()
		c := &config.Config{File: filepath.Join(dir, "config.hcl")}
		c.Server.Store = config.MemoryStore
		c.Server.Audit, c.Server.History = filepath.Join(dir, "audit.log"), filepath.Join(dir, "jobs.jsonl")
		c.Agent.Audit = filepath.Join(dir, "agent.log")
		for _, name := range []string{"audit.log", "jobs.jsonl", "agent.log"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, tt.spoiled)
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		site := &settings.Site{Config: c}
		found, err := settings.Files{Site: func() *settings.Site { return site }, Of: tt.of}.Check(t.Context())
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v %v", tt.spoiled, found, err)
		}
		f := found[0]
		if warned := f.Severity == core.Warning; warned != (tt.want != "") || warned && !strings.HasPrefix(f.What, path+": "+tt.want) {
			t.Errorf("daemon %v, %s: the doctor says %v %q", tt.of, tt.spoiled, f.Severity, f.What)
		}
		if bad := site.Distrusted(tt.of); bad != nil {
			t.Errorf("%s: the daemon does not start: %v", tt.spoiled, bad)
		}
	}
}
