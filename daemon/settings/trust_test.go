package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/settings"
)

// The doctor warns of an audit or a history that another user could change, and the daemon still starts.
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
		warned := f.Severity == core.Warning
		if warned != (tt.want != "") || warned && !strings.HasPrefix(f.What, path+": "+tt.want) {
			t.Errorf("daemon %v, %s: the doctor says %v %q", tt.of, tt.spoiled, f.Severity, f.What)
		}
		if bad := site.Distrusted(tt.of); bad != nil {
			t.Errorf("%s: the daemon does not start: %v", tt.spoiled, bad)
		}
	}
}

// The doctor warns of a witness that the next start of the server cannot use.
func TestWitnessOfTheNextStart(t *testing.T) {
	disk := t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(disk, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skip("no disk here")
	}
	memory, err := os.MkdirTemp("/dev/shm", "weft")
	if err != nil {
		t.Skip("no file system in memory here")
	}
	t.Cleanup(func() { os.RemoveAll(memory) })
	for _, tt := range []struct{ store, witness, want string }{
		{disk, filepath.Join(disk, "cache"), ""},
		{disk, disk, "lies next to the store"},
		{disk, memory, "lies in memory"},
		{"", disk, ""},
	} {
		c := &config.Config{File: filepath.Join(disk, "config.hcl")}
		c.Server.Store, c.Server.Witness = config.MemoryStore, filepath.Join(tt.witness, "server.head")
		if tt.store != "" {
			c.Server.Store = filepath.Join(tt.store, "server.db")
			if err := os.WriteFile(c.Server.Store, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.MkdirAll(tt.witness, 0o755), os.WriteFile(c.Server.Witness, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		site := &settings.Site{Config: c}
		found, err := settings.Files{Site: func() *settings.Site { return site }, Of: config.OfServer}.Check(t.Context())
		warned := len(found) == 1 && found[0].Severity == core.Warning
		if err != nil || warned != (tt.want != "") || !strings.Contains(found[0].What, tt.want) {
			t.Errorf("a witness in %s: the doctor says %+v, want %q", tt.witness, found, tt.want)
		}
	}
}
