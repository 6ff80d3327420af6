package slurm

import (
	"os"
	"strings"
	"testing"
)

// TestOverSubscribeOfARealSlurm: the parts of jobs that a real Slurm runs together are not more than the node. A
// job that shares no CPU has its whole part.
func TestOverSubscribeOfARealSlurm(t *testing.T) {
	for _, file := range []string{"oversubscribe-cons_tres.txt", "oversubscribe-linear.txt"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "\n= ")
		var nodes []map[string]string
		for _, v := range fields(blocks[1]) {
			nodes = append(nodes, map[string]string{
				"NodeList": v[0], "CPUs": v[1], "OverSubscribe": v[2], "Partition": v[3],
			})
		}
		for _, b := range blocks[2:] {
			asked, _, _ := strings.Cut(b, "\n")
			f := &fake{nodes: nodes}
			var own []bool // CPUs of each job that runs
			for _, v := range fields(b) {
				if v[2] == "RUNNING" {
					f.job(v[0], "Partition", v[1], "NumCPUs", v[3], "OverSubscribe", v[4], "NodeList", v[5])
					// With linear, NO of force1 means alone, too. With cons_tres it does not, and neither command tells which.
					alone := v[4] == "NO" && v[1] != "force1"
					own = append(own, v[1] == "main" || alone || v[1] == "yes4" && v[4] == "OK")
				}
			}
			p, sum := f.adapter(t), 0.0
			for i, j := range f.jobs {
				got, err := p.Describe(t.Context(), key(j["JobID"], 0), noteOf(t, note{Job: j["JobID"]}), root)
				if err != nil || len(got.Placements) != 1 || got.Placements[0].Total == 0 {
					t.Fatalf("%s: %s: %+v, %v", file, asked, got.Placements, err)
				}
				has := got.Placements[0]
				sum += float64(has.Cores) / float64(has.Total)
				if own[i] && has.Total > 64 {
					t.Errorf("%s: %s: %+v of a job with CPUs of its own", file, asked, has)
				}
			}
			if sum > 1 {
				t.Errorf("%s: %s: %d jobs have %.3f of a node", file, asked, len(own), sum)
			}
		}
	}
}

// fields are the words of the lines below a heading.
func fields(block string) (all [][]string) {
	for _, line := range strings.Split(strings.TrimSpace(block), "\n")[1:] {
		all = append(all, strings.Fields(line))
	}
	return all
}
