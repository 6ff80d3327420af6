package sim_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

func TestConfigure(t *testing.T) {
	dir := t.TempDir()
	d := sim.New(sim.Options{})
	defaults := core.Values{}
	for _, f := range d.Schema().Fields {
		defaults[f.Name] = f.Default
	}
	if err := d.Configure(t.Context(), defaults); err != nil {
		t.Fatal("the schema's own defaults:", err)
	}
	if devices, err := d.Devices(t.Context()); err != nil || len(devices) != 4 {
		t.Errorf("by default: %d NICs, %v", len(devices), err)
	}
	err := d.Configure(t.Context(), core.Values{"nics": int64(2), "state": dir, "latency": time.Millisecond, "boot": "b1", "sync": false})
	if err != nil {
		t.Fatal(err)
	}
	s := create(t, d, spec("cxi1", 1000, 4034))
	if diff := cmp.Diff([]core.Service{s}, jobs(t, sim.New(sim.Options{Dir: dir, NICs: 2, Boot: "b1"}))); diff != "" {
		t.Error("kept in the folder:", diff)
	}
}

func TestConfigureRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		field string
		value any
	}{
		"no NIC": {"nics", int64(0)}, "17 NICs": {"nics", int64(17)}, "a relative path": {"state", "nodes/n1"}, "a negative latency": {"latency", -time.Second},
		"an hour's latency": {"latency", time.Hour}, "a boot id with a slash": {"boot", "a/b"}, "a text for a number": {"nics", "4"}, "a release nobody knows": {"shs", "11.0"}, "a number for a release": {"shs", int64(14)},
		"a text for a switch": {"sync", "yes"}, "another setting": {"nic", int64(4)},
	} {
		err := sim.New(sim.Options{}).Configure(t.Context(), core.Values{c.field: c.value})
		var at *core.PathError
		if !errors.As(err, &at) || !cmp.Equal(at.Path, []string{c.field}) || !errors.Is(err, core.Invalid) {
			t.Errorf("%s: %v: want BadConfig at %s", name, err, c.field)
		}
	}
}
