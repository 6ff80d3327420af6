package main

import (
	"os"
	"strings"
	"testing"
)

// TestWitnessIsLost: `weft status`, the doctor and the log say that a running server's witness is gone, and stop
// when it is back.
func TestWitnessIsLost(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	d.up()
	path := d.path("run", "server.head")
	d.must(os.Rename(path, path+".away"))
	d.says("run", "status", "THE STORE'S WITNESS IS LOST: "+path+": no such file or directory; clear that path")
	d.says("run", "doctor", "the store's witness is lost")
	const line = "level=WARN msg=\"the store's witness is lost; clear that path"
	if n := strings.Count(d.log(theServer), line); n != 1 {
		t.Errorf("%d lines:\n%s", n, d.log(theServer))
	}
	d.must(os.Rename(path+".away", path))
	d.until("the witness is back", func() (bool, string) {
		got := d.status().Lost
		return got == "", got
	})
	if n := strings.Count(d.log(theServer), "the store's witness is good again"); n != 1 {
		t.Errorf("%d lines:\n%s", n, d.log(theServer))
	}
}
