package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkSrun is what Weft adds to a job's time, in one run: the same command by turns on a Slurm without hooks, on one whose hooks do nothing, and on one
// with Weft. The budget is 6 ms over hooks that do nothing, for two nodes.
func BenchmarkSrun(b *testing.B) {
	needSlurm(b)
	rows := rivals(b)
	for _, nodes := range []int{1, 2} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			took := make([][]time.Duration, len(rows))
			for b.Loop() {
				for i, r := range rows {
					began := time.Now()
					out, err := r.as(alice, "srun", fmt.Sprint("-N", nodes), "true")
					took[i] = append(took[i], time.Since(began))
					if err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
				}
			}
			b.ReportMetric(0, "ns/op") // of all three together
			for i, name := range []string{"none", "true", "weft"} {
				b.ReportMetric(millis(median(took[i])), name+"-ms")
			}
			over := make([]time.Duration, len(took[1]))
			for i := range over {
				over[i] = took[2][i] - took[1][i]
			}
			b.ReportMetric(millis(median(over)), "weft-over-true-ms")
			if nodes == 2 {
				b.ReportMetric(6, "budget-over-true-ms")
			}
		})
	}
}

// BenchmarkSbatch is how many batch jobs of one task a second are over, submitted as an array.
func BenchmarkSbatch(b *testing.B) {
	needSlurm(b)
	const jobs = 60
	for i, r := range rivals(b) {
		b.Run([]string{"none", "true", "weft"}[i], func(b *testing.B) {
			for b.Loop() {
				r.batch(alice, "true", "-N1", "-n1", fmt.Sprint("--array=1-", jobs), "-o", "/dev/null")
				until(b, "all jobs are over", func() (bool, string) {
					out, err := r.root("squeue", "-h", "-a")
					return err == nil && strings.TrimSpace(out) == "", out
				})
			}
			b.ReportMetric(float64(jobs*b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// rivals are three clusters of two nodes: without hooks, with hooks that do nothing, with Weft.
func rivals(b *testing.B) []*cluster {
	b.Helper()
	nodes := []string{"n1", "n2"}
	none := newCluster(b, folder(b), nil, nodes...)
	none.up()
	empty := newCluster(b, folder(b), []string{"Prolog=/bin/true", "TaskProlog=/bin/true", "Epilog=/bin/true"}, nodes...)
	empty.up()
	weft := newSite(b, setup{nodes: nodes, pool: "2000-2999"})
	all := []*cluster{none, empty, weft.cluster}
	for _, c := range all { // the first job of a Slurm takes longer
		if out, err := c.as(alice, "srun", "-N2", "true"); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	return all
}

func median(of []time.Duration) time.Duration { return slices.Sorted(slices.Values(of))[len(of)/2] }

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
