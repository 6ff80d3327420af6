package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/store/etcd"
	"github.com/weft-hpc/weft/store/storetest"
)

// BenchmarkFailover kills the leader of three servers, again and again. There are 60,000 live reservations, and 1,024
// nodes in session. It measures how long a job waits that begins at the kill, and when every node is back. In the
// second run etcd restarts as well, and gives each lease its full time again.
func BenchmarkFailover(b *testing.B) {
	const live, nodes = 60_000, 1024
	s := newServers(b, 5*time.Second, "1024-65535", append([]string{"n1"}, nodeNames(nodes)...)...)
	s.nodes = []string{"n1"}
	client := s.etcd.Client()
	first := etcd.Candidate{Client: client, Prefix: "/weft/", Name: "fill", Time: time.Minute}
	won, err := first.Win(b.Context())
	s.must(err)
	store, err := etcd.Open(b.Context(), etcd.Options{Client: client, Prefix: "/weft/"})
	s.must(err)
	s.must(store.Lead(b.Context(), won))
	storetest.Fill(b, store, live)
	s.must(store.Close())
	s.must(won.Resign(b.Context()))

	leader := s.begun()
	ctx, stop := context.WithCancel(b.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for _, name := range s.names[1:] {
		certs, err := identity.Open(s.path(name+".tls"), name)
		s.must(err)
		link, err := connection.NewLink(s.ways, certs)
		s.must(err)
		defer link.Close()
		hurry := make(chan struct{}, 1)
		all.Go(func() { attendAlways(ctx, link, name, hurry) })
		all.Go(func() {
			link.Follow(ctx, func() {
				select {
				case hurry <- struct{}{}:
				default:
				}
			})
		})
	}
	s.back(nodes + 1)
	for _, c := range []struct {
		name string
		etcd bool // it restarts, too
		most time.Duration
	}{{"leader", false, s.lease + time.Second}, {"leader and etcd", true, 2*s.lease + 2*time.Second}} {
		b.Run(c.name, func(b *testing.B) {
			var starts, backs []time.Duration
			for b.Loop() {
				s.warm(leader)
				began := time.Now()
				s.kill(leader)
				if c.etcd {
					s.etcd.Kill()
					s.etcd.Run()
				}
				k := s.mustBegin("n1")
				starts = append(starts, time.Since(began))
				old := leader
				leader = s.leads(old)
				s.back(nodes + 1)
				backs = append(backs, time.Since(began))
				b.StopTimer()
				k.finish()
				s.start(old)
				b.StartTimer()
			}
			slices.Sort(starts)
			slices.Sort(backs)
			b.ReportMetric(starts[len(starts)/2].Seconds(), "s-to-a-grant-median")
			b.ReportMetric(starts[len(starts)-1].Seconds(), "s-to-a-grant-worst")
			b.ReportMetric(c.most.Seconds(), "budget-s-to-a-grant")
			b.ReportMetric(backs[len(backs)-1].Seconds(), "s-to-all-nodes-worst")
		})
	}
}

func nodeNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("x%04d", i))
	}
	return names
}

// back waits until so many nodes are in session with the leader.
func (s *servers) back(nodes int) {
	s.t.Helper()
	s.until("every node is back", func() (bool, string) {
		st, err := s.statusOf(s.at[len("run."):])
		return err == nil && st.Attached == nodes, fmt.Sprint(st.Attached, err)
	})
}

// attendAlways keeps the session of a node that has nothing, as its agent does.
func attendAlways(ctx context.Context, to core.Authority, name string, hurry <-chan struct{}) {
	const least, most = 100 * time.Millisecond, 15 * time.Second
	wait := least
	for ctx.Err() == nil {
		began := time.Now()
		report := core.Report{Number: 1, Boot: name, Agent: name, Full: true, Devices: []string{"cxi0", "cxi1"}}
		_ = to.Attend(ctx, name, report, make(chan core.Report), func(core.Orders) {})
		if wait = min(2*wait, most); time.Since(began) > time.Second {
			wait = least
		}
		select {
		case <-hurry:
			wait = least
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
		}
	}
}
