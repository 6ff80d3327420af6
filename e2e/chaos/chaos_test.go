package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/effort"
)

// TestChaos runs systems of one server. WEFT_CHAOS says how many.
func TestChaos(t *testing.T) { many(t, episode{}) }

// TestChaosOfSeveral runs systems of three servers that share an etcd of three members.
func TestChaosOfSeveral(t *testing.T) { many(t, episode{servers: 3, members: 3}) }

func many(t *testing.T, e episode) {
	need(t)
	if e.servers > 0 {
		needEtcd(t)
	}
	t.Parallel()
	n, first := 1, *seed
	e.weft, e.length = filepath.Join(os.Getenv(binEnv), "weft"), 4*time.Second
	if text := os.Getenv("WEFT_CHAOS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal("WEFT_CHAOS:", err)
		}
	}
	if first == 0 {
		first = rand.Uint64N(1 << 32)
	}
	if effort.Night() {
		e.length, e.special = 20*time.Second, true
	}
	for i := range n {
		e := e
		e.seed = first + uint64(i)
		t.Run(fmt.Sprint("seed=", e.seed), func(t *testing.T) {
			t.Parallel()
			if err := e.run(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// episode is the life of one system.
type episode struct {
	weft    string   // the binary
	environ []string // further variables of its processes
	seed    uint64
	length  time.Duration // in which faults begin
	only    []string      // kinds of faults; none: all
	servers int           // that share an etcd; 0: one server and its own store
	members int           // of etcd
	pool    uint64        // VNIs; 0: as the seed says
	special bool          // the binary is one of specialBuild
}

// vnis are few, so that many jobs wait for the same ones.
func (e episode) vnis() (out []core.VNI) {
	for i := range cmp.Or(e.pool, 8+e.seed%16) {
		out = append(out, firstVNI+core.VNI(i))
	}
	return out
}

// clients of a system.
const clients = 8

// run runs the episode's schedule, and gives the first thing that is wrong with it.
func (e episode) run(t *testing.T) error {
	var schedule []fault
	l, err := e.live(t, func(l *load) error {
		schedule = l.draw(rand.New(rand.NewPCG(e.seed, 0)), e.length)
		l.strike(schedule)
		return l.goesOn()
	})
	if err != nil {
		return fmt.Errorf("%w\nseed %d:\n%s\n%s", err, e.seed, show(schedule), l.logs())
	}
	return nil
}

// live starts a system and its clients, does harm to it, and gives the first thing that is wrong.
func (e episode) live(t *testing.T, harm func(*load) error) (*load, error) {
	s := newSite(t, e)
	s.up()
	l := newLoad(s)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var work, watch sync.WaitGroup
	working, rest := context.WithCancel(ctx)
	for i := range clients {
		work.Go(func() { l.work(working, rand.New(rand.NewPCG(e.seed, uint64(i)+1))) })
	}
	watch.Go(func() { l.look(ctx) })
	for _, name := range s.servers {
		watch.Go(func() { l.ask(ctx, name) })
	}
	err := harm(l)
	rest()
	work.Wait()
	if err == nil && s.told.failure() == nil {
		err = s.clean()
	}
	stop()
	watch.Wait()
	t.Logf("seed %d: jobs %v; on nodes %v; NICs read %d times, the server %d times",
		e.seed, l.count, l.begun, l.looks, l.reads)
	return l, errors.Join(s.told.failure(), s.told.check(), err, s.panics())
}

// goesOn waits until each node starts jobs after all faults.
func (l *load) goesOn() error {
	if l.told.failure() != nil {
		return nil
	}
	if err := l.attached(); err != nil {
		return err
	}
	before := l.started()
	return until("each node starts a job again", func(context.Context) (bool, string) {
		now := l.started()
		for _, n := range l.nodes {
			if now[n] <= before[n] && l.told.failure() == nil {
				return false, fmt.Sprint(before, now, l.count)
			}
		}
		return true, ""
	})
}
