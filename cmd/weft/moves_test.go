package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/hook"
	certs "github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
)

// store runs a verb of `weft store`, and gives its exit code and what it says.
func (d *daemons) store(args ...string) (int, string) {
	d.t.Helper()
	d.must(os.RemoveAll(d.path("store.log")))
	c := d.weft("store.log", append([]string{"--dir", d.path(d.at), "store"}, args...)...)
	_ = c.Wait()
	return c.ProcessState.ExitCode(), d.log("store")
}

// stores runs one that must end with a code, and say a text.
func (d *daemons) stores(code int, text string, args ...string) {
	d.t.Helper()
	if got, said := d.store(args...); got != code || !strings.Contains(said, text) {
		d.t.Fatalf("store %v: %d, want %d with %q:\n%s", args, got, code, text, said)
	}
}

// A system moves from etcd to a file and back, with a job that goes on. No server starts with a store that was left.
func TestAStoreMoves(t *testing.T) {
	t.Parallel()
	s := newServers(t, shortest, "2000-2039", "n1", "n2")
	s.start("a")
	for _, n := range s.nodes {
		s.start(n)
	}
	s.leads("")
	s.attached()
	k := s.mustBegin("n1")
	text, err := os.ReadFile(s.path("a.hcl"))
	s.must(err)
	config := func(name, old, now string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("a.hcl has no %q", old)
		}
		s.must(os.WriteFile(s.path(name+".hcl"), []byte(strings.Replace(string(text), old, now, 1)), 0o644))
		return s.path(name + ".hcl")
	}
	etcd := fmt.Sprintf("lease = %q", s.lease)
	first, other := s.path("a.hcl"), config("other", etcd, etcd+"\n    prefix = \"/other/\"")
	_, rest, _ := strings.Cut(string(text), "etcd {")
	block, _, _ := strings.Cut(rest, "}")
	file := config("file", "etcd {"+block+"}", "store = \"moved.db\"\n  witness = \"moved.head\"")

	s.stores(0, "reservations 1, nodes 2", "backup", s.path("copy"))
	s.stores(0, "is sound", "check", s.path("copy"))
	s.stores(0, "is sound", "check", first) // also while a server leads
	s.stores(0, "local", "show", first)
	s.stores(1, `server "a" leads; stop all servers of this store first`, "copy", first, file)
	s.stores(1, `server "a" leads; stop all servers of this store first`, "restore", s.path("copy"), first)
	config("stranger", `nodes  = "n1,n2"`, `nodes  = "m[1-2]"`)
	s.start("stranger")
	code, said := s.ended("stranger")
	if code == 0 || !strings.Contains(said, "it is of another system, with the nodes n[1-2]") {
		t.Errorf("%d: %s", code, said)
	}
	s.must(certs.Init(s.path("other.tls"), []string{"127.0.0.1"}, time.Now()))
	config("stranger", `tls         = "tls"`, `tls         = "other.tls"`)
	s.start("stranger")
	if code, said = s.ended("stranger"); code == 0 || !strings.Contains(said, "its servers have the authority ") {
		t.Errorf("%d: %s", code, said)
	}

	starts := func(but string) {
		one, err := s.begin("n2")
		s.until("a job starts", func() (bool, string) {
			if err != nil {
				one, err = s.begin("n2")
			}
			return err == nil, fmt.Sprint(err)
		})
		if one.vnis == but {
			t.Fatalf("VNI %s is in two jobs", but)
		}
		one.finish()
	}
	moves := func(server, from, to, next string) {
		s.terminate(server)
		_, _ = s.ended(server)
		s.stores(0, "with which no server starts any more", "copy", from, to)
		s.stores(0, "no server may use it: ", "check", from)
		s.start(server)
		if code, said := s.ended(server); code == 0 || !strings.Contains(said, "it was copied to ") {
			t.Errorf("%d: %s", code, said)
		}
		s.start(next)
		s.attached()
		starts(k.vnis)
	}
	moves("a", first, file, "file")
	moves("file", file, other, "other")
	s.stores(2, "there is a store already", "restore", s.path("copy"), first)
	s.stores(1, `server "a" leads`, "copy", file, other) // it was left, and other is in use

	// A restored store waits for the nodes and the quarantine. The job on n1 goes on.
	third := config("third", etcd, etcd+"\n    prefix = \"/third/\"")
	s.stores(0, "its server grants nothing until every node has reported", "restore", s.path("copy"), third)
	s.kill("n2")
	s.terminate("other")
	_, _ = s.ended("other")
	s.start("third")
	s.until("the server waits for n2", func() (bool, string) {
		var st server.Status
		err := hook.Call(t.Context(), s.socket(), "status", nil, &st)
		return err == nil && st.Missing == "n2" && st.Cause != "", fmt.Sprintf("%+v %v", st, err)
	})
	s.start("n2")
	starts(k.vnis)
	k.finish()
}
