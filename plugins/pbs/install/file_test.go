package install

import (
	"strings"
	"testing"
)

// TestSealOfOlderRelease: an upgrade must not take a configuration for one that a person edited.
func TestSealOfOlderRelease(t *testing.T) {
	text := Config{Hook: "/usr/sbin/weft-hook", Scheduler: "aurora", Resources: []string{"slingshot_tcs"}}.text()
	if strings.Contains(string(text), "room") {
		t.Errorf("releases that had no runjob flag wrote none: %s", text)
	}
	for _, c := range [][]byte{text, (Config{Scheduler: "aurora", Room: true}).text()} {
		if ours, intact := isSealedConfig(c); !ours || !intact {
			t.Errorf("ours %v, intact %v: %s", ours, intact, c)
		}
	}
}
