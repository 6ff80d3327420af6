package slurm

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// Whatever stands in one field, it stays in it: what squeue prints of some rows is read as these rows.
func TestTableKeepsFieldsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := table{}
		for i, w := range rapid.SliceOfN(rapid.IntRange(2, 20), 1, 5).Draw(t, "widths") {
			tab = append(tab, column{string(rune('A' + i)), w})
		}
		var rows []map[string]string
		var want [][]string
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			r, values := map[string]string{}, []string{}
			for _, c := range tab {
				v := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\n 0-9a]*`)).Draw(t, "value")
				r[c.name] = v
				v = strings.TrimRight(v[:min(len(v), c.width)], " ")
				if v == "(null)" || v == "N/A" {
					v = ""
				}
				values = append(values, v)
			}
			rows, want = append(rows, r), append(want, values)
		}
		var got [][]string
		err := tab.parse(printed(tab.format(), rows), func(v []string, cut []bool) error {
			for i, c := range tab {
				full := len(rows[len(got)][c.name])
				if full > c.width && !cut[i] && rows[len(got)][c.name][c.width-1] != ' ' {
					t.Fatalf("%q was cut to %d and is not said to be", rows[len(got)][c.name], c.width)
				}
			}
			got = append(got, slices.Clone(v))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTableRefuses(t *testing.T) {
	tab := table{{"A", 3}, {"B", 2}}
	for text, says := range map[string]string{
		"abc":           "not made of records of 6",
		"abc12":         "not made of records of 6",
		"abc12\nabc1\n": "not made of records of 6",
		"abc12xabc12x":  "does not end there",
	} {
		err := tab.parse([]byte(text), func([]string, []bool) error { return nil })
		checkError(t, err, core.SchedulerAway, says)
	}
}

func FuzzRows(f *testing.F) {
	s := &fake{}
	s.job("7", "Network", "job_vni\n8           N/A         ", "Account", "a\nb")
	s.job("8", "State", "PENDING", "NumNodes", "2-4", "NodeList", "")
	f.Add(printed(every.format(), s.jobs), false)
	f.Add(printed(about(64).format(), s.jobs), true)
	s.job("9", "Exclusive", "NODE")
	f.Add(printed(about(64).format(), s.jobs[2:]), true)
	f.Add([]byte("slurm_load_jobs error: Unable to contact slurm controller\n"), true)
	f.Fuzz(func(t *testing.T, text []byte, one bool) {
		tab := every
		if one {
			tab = about(64)
		}
		all, err := rows(tab, text)
		if err != nil {
			return
		}
		if len(all) != len(text)/tab.known(text).length() {
			t.Errorf("%d rows of %d bytes", len(all), len(text))
		}
		p := New("tioga")
		p.statuses(all)
		for _, r := range all {
			if err := checkJob(r.job); err != nil {
				t.Error(err)
			}
			if n := r.name(); strings.ContainsAny(n, " -\n=,") {
				t.Errorf("a command would be told %q", n)
			}
			if s, err := shares(all, note{Job: r.job, Nodes: r.nodes, CPUs: "1"}); err == nil {
				for _, share := range scheduler.Shares(s) {
					if share.Nodes <= 0 || share.Cores <= 0 {
						t.Errorf("%+v", s)
					}
				}
			}
		}
	})
}
