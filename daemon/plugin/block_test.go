package plugin

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/host"
)

// moody is a driver that takes its block as often as it is allowed to.
type moody struct {
	*sim.Driver
	left atomic.Int64
}

func (m *moody) Configure(ctx context.Context, v core.Values) error {
	if m.left.Add(-1) < 0 {
		return core.Errorf(core.BadConfig, "not now")
	}
	return m.Driver.Configure(ctx, v)
}

// TestAPluginDoesNotComeBack: a reload that a plugin refuses also says where the plugin does not take its former block.
func TestAPluginDoesNotComeBack(t *testing.T) {
	for name, c := range map[string]struct {
		starts int64 // after the first
		fallen bool
	}{"it comes back": {1, false}, "it does not": {0, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				block := func(nics string) config.Plugin {
					text := "nodes = \"n1\"\npool \"a\" { vnis = \"20\" }\nscheduler \"local\" \"l\" {}\n" +
						"driver \"sim\" {\n  in_process = true\n  " + nics + "\n}\n"
					conf, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
					if findings != nil {
						t.Fatal(findings)
					}
					return conf.Drivers[0]
				}
				plugins, err := host.New(host.Options{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				defer plugins.Close(context.Background())
				blocks, driver := new(Blocks), &moody{Driver: sim.New(sim.Options{})}
				driver.left.Store(1)
				spec, _ := blocks.Spec(host.Driver, block("nics = 4"))
				spec.Value = driver
				if _, err := plugins.Start(t.Context(), spec); err != nil {
					t.Fatal(err)
				}
				driver.left.Store(c.starts)
				_, findings, err := blocks.Reconfigure(t.Context(), plugins, []config.Plugin{block("nicks = 4")})
				if err != nil {
					t.Fatal(err)
				}
				var out strings.Builder
				if err := hclfile.Text(&out, findings, false); err != nil {
					t.Fatal(err)
				}
				if said := out.String(); !strings.Contains(said, `did you mean "nics"?`) ||
					strings.Contains(said, "it does not start with its former block either") != c.fallen {
					t.Error(said)
				}
			})
		})
	}
}
