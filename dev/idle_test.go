package dev_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/store/ledger"
	"github.com/weft-hpc/weft/store/memory"
)

// BenchmarkIdle watches agents that have a session with the server and nothing to do. Agents of an El Capitan share the process here, so cpu-%/agent is
// that of the agent's own wake-ups and its share of the collector. RSS is that of this process with one agent on a real ledger, and with the server and the
// test beside it: more than an agent's own.
func BenchmarkIdle(b *testing.B) {
	b.Run("cpu", func(b *testing.B) {
		r := serve(b, memory.New(), newBatch())
		defer r.stop()
		f := newFleet(b, elCapitan, r.Server)
		defer f.stop()
		r.attached(b, elCapitan)
		used()
		var spent, passed time.Duration
		for b.Loop() {
			began, now := cpu(), time.Now()
			time.Sleep(5 * time.Second)
			spent += cpu() - began
			passed += time.Since(now)
		}
		b.ReportMetric(100*spent.Seconds()/passed.Seconds()/elCapitan, "cpu-%/agent")
		b.ReportMetric(0.05, "budget-cpu-%")
	})
	b.Run("memory", func(b *testing.B) {
		r := serve(b, memory.New(), newBatch())
		defer r.stop()
		dir := runDir(b)
		l, err := ledger.Open(filepath.Join(dir, "ledger.db"))
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		heap, stacks := used()
		a, err := agent.New(b.Context(), agent.Needs{
			Node: nodeName(0), Boot: nodeName(0), Driver: sim.New(sim.Options{Dir: filepath.Join(dir, "nics"), Boot: nodeName(0), NoSync: true}),
			Authority: r.Server, Store: l, Log: slog.New(slog.DiscardHandler), Environ: filepath.Join(dir, "env"),
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r.group.Go(func() { _ = a.Run(ctx) })
		r.attached(b, 1)
		job := 0
		for b.Loop() {
			for _, action := range []core.Action{core.Prepare, core.CleanUp} {
				if out := a.Do(ctx, askFor(job, action, ""), core.Peer{}); out.Err != nil {
					b.Fatal(out.Err)
				}
			}
			job++
		}
		afterHeap, afterStacks := used()
		debug.FreeOSMemory()
		b.ReportMetric(mib(afterHeap+afterStacks)-mib(heap+stacks), "MiB-by-an-agent")
		b.ReportMetric(mib(rss(b)), "RSS-MiB")
		b.ReportMetric(40, "budget-RSS-MiB")
	})
}

// rss is what this process has in memory, in bytes.
func rss(b *testing.B) uint64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		b.Fatalf("/proc/self/statm: %q", text)
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}
