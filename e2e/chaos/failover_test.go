package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// TestFailover kills the server that leads, again and again, while jobs start and end. Each third time it kills a
// member of etcd, too. A job that has time left to wait never fails. WEFT_FAILOVERS says how often.
func TestFailover(t *testing.T) {
	need(t)
	needEtcd(t)
	t.Parallel()
	times := 2
	if text := os.Getenv("WEFT_FAILOVERS"); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil {
			t.Fatal("WEFT_FAILOVERS:", err)
		}
	}
	e := episode{weft: filepath.Join(os.Getenv(binEnv), "weft"), seed: *seed, servers: 3, members: 3, pool: 100}
	if e.seed == 0 {
		e.seed = rand.Uint64N(1 << 32)
	}
	var took []time.Duration
	l, err := e.live(t, func(l *load) error {
		for i := range times {
			leader, err := l.warm()
			if err != nil {
				return err
			}
			killed := l.told.now()
			l.kill(leader)
			member := l.members[i%len(l.members)]
			if i%3 == 2 {
				l.kill(member)
			}
			if err := until("a server grants again", func(context.Context) (bool, string) {
				at := l.told.after(killed)
				if at > 0 {
					took = append(took, (at - killed).Round(10*ms))
				}
				return at > 0 || l.told.failure() != nil, fmt.Sprint(l.refused())
			}); err != nil {
				return err
			}
			l.start(leader)
			l.start(member)
			if err := errors.Join(l.goesOn(), l.told.failure(), l.refused()); err != nil {
				return fmt.Errorf("failover %d: %w", i+1, err)
			}
		}
		return nil
	})
	if err = errors.Join(err, l.refused()); err != nil {
		t.Errorf("%v\nseed %d\n%s", err, e.seed, l.logs())
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		t.Logf("%d failovers: from the kill to a job's start %s in the median, %s at most", n, took[n/2], took[n-1])
	}
}

// warm waits until a server leads and another could lead at once, and gives the first.
func (s *site) warm() (leader string, err error) {
	err = until("a server leads, and another has followed it", func(ctx context.Context) (bool, string) {
		leader = ""
		follow := 0
		for _, name := range s.servers {
			st, err := s.status(ctx, name)
			switch {
			case err == nil && st.Servers.Leads && s.whole(st):
				leader = name
			case err == nil && st.Servers.Warm:
				follow++
			}
		}
		return leader != "" && follow > 0, fmt.Sprintf("%q leads, %d follow", leader, follow)
	})
	return leader, err
}

// after is when a client first got an answer to a call that waited then or began later; 0: it has not yet.
func (h *history) after(then time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.told {
		if a.back > then {
			return a.back
		}
	}
	return 0
}

// refused is an error for jobs that did not start.
func (l *load) refused() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for why, n := range l.count {
		if strings.HasPrefix(why, "refused") && !strings.Contains(why, string(core.PoolEmpty)) {
			return fmt.Errorf("failed jobs: %d with %s: %s", n, why, l.why)
		}
	}
	return nil
}
