package main

import (
	"fmt"
	"os"
	"testing"
)

// TestStoreIsPutBack: a server that gets an older copy of its store gives no job the VNI of one that runs, which the
// copy does not know.
func TestStoreIsPutBack(t *testing.T) {
	t.Parallel()
	for name, witness := range map[string]bool{"with the witness": true, "without the witness": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDaemons(t, "2000-2009", "", "n1", "n2")
			d.up()
			d.kill(theServer)
			copied, err := os.ReadFile(d.path("server.db"))
			d.must(err)
			d.start(theServer)
			d.attached()
			k := d.mustBegin("n1")
			d.kill(theServer)
			d.must(os.WriteFile(d.path("server.db"), copied, 0o600))
			if !witness {
				d.must(os.Remove(d.path("run", "server.head")))
			}
			d.start(theServer)
			var other *task
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
