package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A reader that stops costs one wait. The log says how many lines it has lost.
func TestLogThatIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		p := &patient{to: to, wait: logWait, turn: make(chan struct{}, 1)}
		began := time.Now()
		for i := range 4 {
			fmt.Fprintf(p, "line %d\n", i)
		}
		if took := time.Since(began); took != logWait {
			t.Errorf("four lines took %v, want %v", took, logWait)
		}
		var got strings.Builder
		go func() { _, _ = io.Copy(&got, from) }()
		synctest.Wait()
		fmt.Fprintln(p, "line 4")
		fmt.Fprintln(p, "line 5")
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		said := strings.Split(strings.TrimSpace(got.String()), "\n")
		if len(said) != 4 || said[0] != "line 0" || !strings.HasSuffix(said[1], " lost=3") ||
			said[2] != "line 4" || said[3] != "line 5" {
			t.Errorf("the log is %q", said)
		}
	})
}
