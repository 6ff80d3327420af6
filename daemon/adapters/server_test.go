package adapters

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
)

// spinner is a scheduler with a fault in its configuration.
type spinner struct {
	phasedByPID
	teller
}

func (spinner) Check(context.Context) ([]core.Finding, error) {
	return []core.Finding{{Severity: core.Warning, What: "it spins"}}, nil
}

// TestCheckOfTheServersHost: only a scheduler whose own server asks this one is looked at from here.
func TestCheckOfTheServersHost(t *testing.T) {
	plugins, err := host.New(host.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plugins.Close(context.Background()) }()
	for _, name := range []string{"aurora", "tioga"} {
		if _, err := plugins.Start(t.Context(), host.Spec{Kind: host.Scheduler, Name: name, Value: spinner{}}); err != nil {
			t.Fatal(err)
		}
	}
	here := rundir.Hooks{Schedulers: []rundir.Scheduler{{Name: "aurora"}}}
	b := &Server{HookTable: &HookTable{now: here}, plugins: plugins}
	got, err := b.Check(t.Context())
	if diff := cmp.Diff([]core.Finding{{Severity: core.Warning, What: "it spins"}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}
