package run

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
)

// A job that starts at once says nothing; one that waits says for what, once.
func TestARunThatWaitsSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var quick, slow strings.Builder
		over := notice(&quick, "job n1.1 waits")
		time.Sleep(runPatience - time.Millisecond)
		over()
		over = notice(&slow, "job n1.2 waits")
		time.Sleep(time.Minute)
		synctest.Wait()
		over()
		if quick.String() != "" || slow.String() != "weft: job n1.2 waits\n" {
			t.Errorf("%q and %q", &quick, &slow)
		}
	})
	if text := (&runArgs{label: "local"}).waits(&cli.Options{Dir: t.TempDir()}, "n1.3"); !strings.Contains(text, "job n1.3 waits for") || !strings.Contains(text, "server") {
		t.Errorf("%q", text)
	}
}
