package main

import (
	"fmt"
	"os"
	"testing"
)

// TestStoreIsPutBack: a server gets an older copy of its store, which does not know a job that runs. It gives no job
// that one's VNI, also while that job's node is away. With a witness as old as the copy it cannot know. Then it stops
// when the node is back, even after many commits.
func TestStoreIsPutBack(t *testing.T) {
	t.Parallel()
	const lost = "a store was lost, or another server uses a copy of it"
	for _, c := range []struct{ name, witness, cause string }{
		{"with the witness", "kept", lost},
		{"without the witness", "lost", "the store has no witness that it is the newest"},
		{"with its witness", "put back", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDaemons(t, "2000-2009", "", "n1", "n2")
			d.up()
			d.kill("n2") // it sees nothing newer than the copy
			d.kill(theServer)
			copied := map[string][]byte{}
			for _, name := range []string{"server.db", "run/server.head"} {
				text, err := os.ReadFile(d.path(name))
				d.must(err)
				copied[name] = text
			}
			d.nodes = []string{"n1"}
			d.start(theServer)
			d.attached()
			k := d.mustBegin("n1")
			d.kill(theServer)
			d.kill("n1")
			switch c.witness {
			case "lost":
				delete(copied, "run/server.head")
				d.must(os.Remove(d.path("run", "server.head")))
			case "kept":
				delete(copied, "run/server.head")
			}
			for name, text := range copied {
				d.must(os.WriteFile(d.path(name), text, 0o600))
			}
			d.start(theServer)
			d.nodes = []string{"n2"}
			d.start("n2")
			d.attached()
			if got := d.status().Cause; got != c.cause {
				t.Fatalf("the server says %q, want %q", got, c.cause)
			}
			other, err := d.begin("n2")
			switch {
			case c.cause == "" && err != nil:
				t.Fatal(err)
			case c.cause == "":
				for range 5 {
					other.finish()
					other = d.mustBegin("n2")
				}
			case err == nil:
				t.Fatalf("a job has VNI %s while nobody knows that one on n1 has %s", other.vnis, k.vnis)
			}
			d.nodes = []string{"n1", "n2"}
			d.start("n1")
			if c.cause == "" {
				d.until("the server knows that its store is a copy", func() (bool, string) {
					got := d.status().Cause
					return got == lost, got
				})
				other.finish()
			}
			d.until("a job starts on the other node", func() (bool, string) {
				other, err = d.begin("n2")
				return err == nil, fmt.Sprint(err)
			})
			if other.vnis == k.vnis {
				t.Errorf("VNI %s is in two jobs", k.vnis)
			}
			other.finish()
			k.finish()
			d.clean()
		})
	}
}
