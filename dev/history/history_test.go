package history

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

var (
	oneSeed  = flag.Uint64("seed", 0, "run this one history, with its trace")
	from     = flag.Uint64("from", 1, "the first seed")
	sessions = flag.Bool("sessions", false, "let nine of ten faults be the end of a session")
	most     = flag.Uint64("failures", 3, "stop after so many failures")
	rules    = flag.String("rules", "", "look only for failures of these rules: R1,R2")
)

// histories is how many are tried: WEFT_HISTORIES, or some.
func histories(t *testing.T) uint64 {
	if s := os.Getenv("WEFT_HISTORIES"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("WEFT_HISTORIES=%q: %v", s, err)
		}
		return n
	}
	if effort.Full() {
		return 20_000
	}
	return 3000
}

// TestHistories lives many histories. A failure names the seed that shows it again.
func TestHistories(t *testing.T) {
	if *oneSeed != 0 {
		tr := newTrace()
		if err := newWorld(*oneSeed, tr).run(); err != nil {
			t.Fatal(report(*oneSeed, err, tr))
		}
		t.Logf("seed %d: every rule holds; %d events, the last of which are\n%s", *oneSeed, tr.total, tr)
		return
	}
	n := histories(t)
	var next, failed atomic.Uint64
	next.Store(*from)
	var mu sync.Mutex
	var texts []string
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *from+n || failed.Load() >= *most {
					return
				}
				if lived := seed - *from; lived > 0 && lived%5000 == 0 {
					t.Logf("%d of %d histories", lived, n)
				}
				if err := newWorld(seed, nil).run(); err != nil && err.of(*rules) {
					failed.Add(1)
					mu.Lock()
					texts = append(texts, again(seed, err))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for _, text := range texts {
		t.Error(text)
	}
}

// of says whether the failure is one of these rules; "" is any.
func (b *broken) of(rules string) bool {
	rule, _, _ := strings.Cut(b.text, ":")
	return rules == "" || slices.Contains(strings.Split(rules, ","), rule)
}

// again runs a failed history once more with its trace.
func again(seed uint64, was *broken) string {
	tr := newTrace()
	err := newWorld(seed, tr).run()
	if err == nil || err.text != was.text {
		return fmt.Sprintf("seed %d: %s\n  and a second run of the seed ends otherwise (%v): a machine's outcome depends on the order of a map", seed, was.text, err)
	}
	return report(seed, err, tr)
}

func report(seed uint64, err *broken, tr *trace) string {
	more := ""
	if *sessions {
		more = " -sessions"
	}
	return fmt.Sprintf("%s\n%s  seed %d: go test ./dev/history -run TestHistories -seed %d%s", err.text, tr, seed, seed, more)
}
