package daemon

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/server"
)

func TestStatusNamesNodesWithTwoHosts(t *testing.T) {
	const line = "\nTWO HOSTS HAVE ONE CERTIFICATE, SO NOTHING OF n[1-2] IS FREED OR GRANTED: `weft nodes`"
	for hosts, want := range map[string]bool{"n[1-2]": true, "": false} {
		var out strings.Builder
		PrintStatus(&out, server.Status{TwoHosts: hosts})
		if got := strings.Contains(out.String(), line); got != want || !want && strings.Contains(out.String(), "TWO HOSTS") {
			t.Errorf("two hosts of %q:\n%s", hosts, out.String())
		}
	}
}

func TestStatusTellsHowLongEveryVNIRests(t *testing.T) {
	for rests, want := range map[string]string{"45s": "ends by itself in 45s\n", "": "ends by itself in a moment\n"} {
		var out strings.Builder
		PrintStatus(&out, server.Status{Recovering: true, Rests: rests})
		if got := out.String(); !strings.Contains(got, "NOTHING IS GRANTED") || !strings.Contains(got, want) {
			t.Errorf("%q:\n%s", rests, got)
		}
	}
}
