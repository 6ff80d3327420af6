package main

import (
	"os"
	"strings"
	"testing"
)

// TestStoreIsMoved: nothing is granted into a store, and no job starts with a ledger, that was moved away under its
// daemon. The daemon says so at once, also where it is idle, and goes on when the file is back.
func TestStoreIsMoved(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	d.mustBegin("n1")
	for name, path := range map[string]string{theServer: d.path("server.db"), "n1": d.path("n1", "ledger.db")} {
		whole, err := os.ReadFile(path)
		d.must(err)
		d.must(os.Rename(path, path+".away"))
		d.must(os.WriteFile(path, whole, 0o600))
		want := path + ": another file is in its place"
		if name == theServer {
			d.says("run", "status", "NOTHING IS GRANTED: store: "+want)
			d.says("run", "doctor", want)
		} else {
			d.says(name, "doctor", "its store cannot be read")
		}
		if k, err := d.begin("n1"); err == nil {
			t.Errorf("%s: job %s began though its file is gone", name, k.job)
		}
		if log := d.log(name); !strings.Contains(log, want) || strings.Count(log, "store cannot be written") != 1 {
			t.Errorf("%s says:\n%s", name, log)
		}
		d.must(os.Rename(path+".away", path))
		d.until(name+" has its file again", func() (bool, string) {
			return strings.Contains(d.log(name), "store is back"), d.log(name)
		})
		d.attached()
		d.mustBegin("n1")
	}
}
