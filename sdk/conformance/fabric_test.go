package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// manager is a fabric manager in memory, which several backends share.
type manager struct {
	mu    sync.Mutex
	next  int
	held  map[core.Key]core.Collective
	total int
}

// backend is a right one; fault names the one thing that it does wrong.
type backend struct {
	m     *manager
	fault string
	log   *slog.Logger
}

func (b *backend) Reserve(ctx context.Context, key core.Key, n int) (core.Collective, error) {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if ctx.Err() != nil && b.fault != "late" {
		return core.Collective{}, core.Errorf(core.TimedOut, "reserve %s: %w", key, ctx.Err())
	}
	if c, ok := b.m.held[key]; ok && b.fault != "not idempotent" {
		return c, nil
	}
	if used := b.used(); used+n > b.m.total && b.fault != "no bound" {
		return core.Collective{}, core.Errorf(core.PoolEmpty, "reserve %s: %d addresses of %d are in use", key, used, b.m.total)
	}
	b.m.next++
	c := core.Collective{JobID: fmt.Sprint(b.m.next), Token: fmt.Sprint("token-", b.m.next), URL: "https://fm", Addresses: n}
	if b.fault == "one for all" {
		c.JobID = "1"
	}
	if b.fault == "token in log" {
		b.log.Info("reserved", "token", c.Token)
	}
	b.m.held[key] = c
	return c, nil
}

func (b *backend) used() int {
	n := 0
	for _, c := range b.m.held {
		n += c.Addresses
	}
	return n
}

func (b *backend) ReleaseStep(context.Context, core.Key, string) error { return nil }

func (b *backend) Release(_ context.Context, key core.Key) error {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	if _, ok := b.m.held[key]; !ok && b.fault == "unknown fails" {
		return core.Errorf(core.NotThere, "release %s: there is none", key)
	}
	if b.fault != "keeps" {
		delete(b.m.held, key)
	}
	return nil
}

func (b *backend) Collectives(context.Context) (core.Fabric, error) {
	b.m.mu.Lock()
	defer b.m.mu.Unlock()
	f := core.Fabric{Addresses: b.used(), Total: b.m.total}
	for k := range b.m.held {
		f.Collectives = append(f.Collectives, k)
	}
	if b.fault == "hides an orphan" && len(f.Collectives) > 0 {
		slices.SortFunc(f.Collectives, func(a, b core.Key) int { return strings.Compare(a.Job, b.Job) })
		f.Collectives = f.Collectives[1:]
	}
	return f, nil
}

// fabric is a backend with a fault, and a site that shows its log.
func fabric(fault string) (func() any, Site) {
	m := &manager{held: map[core.Key]core.Collective{}, total: 16}
	var mu sync.Mutex
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(b)
	}), nil))
	return func() any { return &backend{m: m, fault: fault, log: log} }, Site{Logged: func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestFabric(t *testing.T) {
	open, site := fabric("")
	Test(t, open, site)
}

func TestFabricMutations(t *testing.T) {
	for fault, rule := range map[string]string{
		"not idempotent": "F1", "one for all": "F1", "unknown fails": "F3", "hides an orphan": "F2", "keeps": "F2", "no bound": "F4", "token in log": "C7", "late": "C3",
	} {
		t.Run(fault, func(t *testing.T) {
			open, site := fabric(fault)
			caught(t, verify(t, Value(open), site, ""), rule)
		})
	}
}
