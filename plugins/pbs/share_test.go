package pbs_test

import (
	"context"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// TestTotals: a job's host has the cores of its vnodes, but where the job has it for itself: then it has the job's.
func TestTotals(t *testing.T) {
	for name, test := range map[string]struct {
		sharing, place string
		vnodes, total  int
	}{
		"none tells":                     {total: 64},
		"it asks for it":                 {place: "scatter:excl", total: 4},
		"it asks for the host":           {place: "exclhost", total: 4},
		"it asks for a shared one":       {sharing: "default_excl", place: "scatter:shared", total: 64},
		"by default":                     {sharing: "default_excl", place: "scatter", total: 4},
		"the host by default":            {sharing: "default_exclhost", place: "free", total: 4},
		"always":                         {sharing: "force_excl", place: "free:shared", total: 4},
		"the host always":                {sharing: "force_exclhost", place: "free:shared", total: 4},
		"never":                          {sharing: "ignore_excl", place: "exclhost", total: 64},
		"some vnodes":                    {place: "excl", vnodes: 2, total: 128},
		"some vnodes by default":         {sharing: "default_excl", vnodes: 2, total: 128},
		"some vnodes of a default host":  {sharing: "default_exclhost", place: "excl", vnodes: 2, total: 128},
		"all vnodes":                     {place: "exclhost", vnodes: 2, total: 4},
		"all vnodes by default":          {sharing: "default_exclhost", vnodes: 2, total: 4},
		"all vnodes, but a shared place": {sharing: "default_exclhost", place: "shared", vnodes: 2, total: 128},
	} {
		t.Run(name, func(t *testing.T) {
			c := pbstest.New(1)
			if test.vnodes > 0 {
				c.Split("n1", test.vnodes)
			}
			for _, v := range c.Host("n1").Vnodes {
				v.Cores, v.Sharing = 64, test.sharing
			}
			asks := 0
			p := adapter(t, func(ctx context.Context, name string, args ...string) ([]byte, error) {
				if name == "pbsnodes" {
					asks++
				}
				return c.Command(ctx, name, args...)
			})
			j := c.Submit(pbstest.Job{Cores: 4, Resources: map[string]string{"place": test.place}})
			c.Schedule()
			for range 2 { // the second time by the first answer
				ask := asked(t, j, 1)
				got, err := p.Describe(t.Context(), ask.Key, ask.Note, core.Peer{})
				if err != nil || len(got.Placements) != 1 || got.Placements[0].Total != test.total || got.Placements[0].Cores != 4 {
					t.Errorf("%+v, %v, want %d", got.Placements, err, test.total)
				}
			}
			if asks != 1 {
				t.Errorf("pbsnodes ran %d times", asks)
			}
		})
	}
}
