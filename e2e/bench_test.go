package e2e

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var pairs = flag.String("pairs", "", "write the turns of BenchmarkStart to this file")

// turns is how often each cluster has its turn.
const turns = 40

// The clusters that take turns.
const (
	none  = "none"  // no hooks
	empty = "true"  // Prolog, TaskProlog and Epilog are /bin/true
	hooks = "hooks" // Weft by its three hooks
	spank = "spank" // Weft by weft.so, and Epilog
	drawn = "drawn" // so, and each step has a VNI of its own
)

// rival is a Slurm cluster that takes turns with others.
type rival struct {
	name string
	*cluster
}

// rivals are four clusters of so many nodes, with these lines in slurm.conf.
func rivals(b *testing.B, nodes int, lines ...string) []rival {
	b.Helper()
	needSlurm(b)
	names := make([]string, nodes)
	for i := range names {
		names[i] = fmt.Sprint("n", i+1)
	}
	bare := newCluster(b, folder(b), lines, names...)
	bare.up()
	trivial := append([]string{"Prolog=/bin/true", "TaskProlog=/bin/true", "Epilog=/bin/true"}, lines...)
	idle := newCluster(b, folder(b), trivial, names...)
	idle.up()
	hooked := newSite(b, setup{nodes: names, lines: lines})
	plugged := newSite(b, setup{nodes: names, lines: lines, spank: true})
	all := []rival{{none, bare}, {empty, idle}, {hooks, hooked.cluster}, {spank, plugged.cluster}}
	for _, r := range all { // the first job of a Slurm takes longer
		if out, err := r.as(alice, "srun", fmt.Sprint("-N", nodes), "true"); err != nil {
			b.Fatalf("%s: %v\n%s", r.name, err, out)
		}
	}
	return all
}

// BenchmarkStart is the time of an srun, on each cluster by turns: a job of 1, 2 and 16 nodes, and a step of two nodes
// in a job that has its network already. What Weft adds is the median of the differences of a turn; low and high are the
// ends of its 95 % interval, by the binomial distribution of ranks. The budget of weft.so is 5 ms for a job of 1
// or 2 nodes, 3 ms for a step, and 10 ms where the step draws a VNI. -pairs writes down each turn.
func BenchmarkStart(b *testing.B) {
	var table strings.Builder
	for _, nodes := range []int{1, 2, 16} {
		b.Run(fmt.Sprint("job/nodes=", nodes), func(b *testing.B) {
			all := rivals(b, max(2, nodes))
			takeTurns(b, &table, all, func(r rival) []string { return []string{"srun", fmt.Sprint("-N", nodes), "true"} })
		})
	}
	b.Run("step/nodes=2", func(b *testing.B) {
		all := rivals(b, 2)
		all = append(all, rival{drawn, newSite(b, setup{nodes: []string{"n1", "n2"}, spank: true, policy: stepPolicy}).cluster})
		jobs := map[string]string{}
		for _, r := range all {
			out, err := r.as(alice, "salloc", "-N2", "--no-shell", "--job-name=step")
			if err != nil {
				b.Fatalf("%s: %v\n%s", r.name, err, out)
			}
			jobs[r.name] = strings.TrimSpace(r.mustRoot("squeue", "-h", "-a", "-n", "step", "-o", "%A"))
		}
		takeTurns(b, &table, all, func(r rival) []string { return []string{"srun", "--jobid=" + jobs[r.name], "-N2", "true"} })
		for _, r := range all {
			r.mustRoot("scancel", jobs[r.name])
		}
	})
	if *pairs != "" {
		must(b, os.WriteFile(*pairs, []byte(table.String()), 0o600))
	}
}

// takeTurns runs a command on each cluster, again and again, in an order that moves on by one each time.
func takeTurns(b *testing.B, table *strings.Builder, all []rival, command func(rival) []string) {
	took := make([][]float64, len(all))
	turn := func() {
		first := len(took[0])
		for i := range all {
			i = (first + i) % len(all)
			began := time.Now()
			if out, err := all[i].as(alice, command(all[i])...); err != nil {
				b.Fatalf("%s: %v\n%s", all[i].name, err, out)
			}
			took[i] = append(took[i], millis(time.Since(began)))
			all[i].settle(b)
		}
	}
	turn() // a job's first step asks for its network
	for i := range took {
		took[i] = nil
	}
	for b.Loop() {
		for len(took[0]) < turns {
			turn()
		}
	}
	fmt.Fprintf(table, "# %s, ms:", b.Name())
	for _, r := range all {
		fmt.Fprint(table, "\t", r.name)
	}
	for k := range took[0] {
		for i := range took {
			fmt.Fprintf(table, "%c%.2f", "\n\t"[min(i, 1)], took[i][k])
		}
	}
	table.WriteByte('\n')
	b.ReportMetric(0, "ns/op") // of all together
	for i, r := range all {
		b.ReportMetric(middle(slices.Sorted(slices.Values(took[i]))), r.name+"-ms")
		for _, other := range all[:min(i, 2)] {
			over := over(took[i], took[slices.IndexFunc(all, func(o rival) bool { return o.name == other.name })])
			b.ReportMetric(middle(over), fmt.Sprintf("%s-over-%s-ms", r.name, other.name))
			if i > 2 && other.name == none {
				b.ReportMetric(over[13], r.name+"-low") // ranks 14 and 27 of 40
				b.ReportMetric(over[26], r.name+"-high")
			}
		}
	}
}

// settle waits for a job's end, so that no cluster's turn pays for the Epilog of another.
func (r rival) settle(b *testing.B) {
	until(b, "no job is ending", func() (bool, string) {
		out, err := r.root("squeue", "-h", "-a", "-t", "CG")
		return err == nil && strings.TrimSpace(out) == "", out
	})
}

// over is the differences of pairs, in order of size.
func over(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	slices.Sort(out)
	return out
}

// middle is the median of an even number of values in order.
func middle(of []float64) float64 { return (of[len(of)/2-1] + of[len(of)/2]) / 2 }

// BenchmarkMany is what one job takes that starts many steps, or many tasks on a node. One turn each.
func BenchmarkMany(b *testing.B) {
	all := rivals(b, 2, "MaxTasksPerNode=1024") // 512 without it
	for _, c := range []struct {
		name    string
		command []string
	}{
		{"steps=1000", []string{"salloc", "-N1", "sh", "-c", "for i in $(seq 1000); do srun -N1 true || exit 1; done"}},
		{"tasks=1000", []string{"srun", "-N1", "-n1000", "--overcommit", "true"}},
	} {
		for _, r := range all {
			b.Run(c.name+"/"+r.name, func(b *testing.B) {
				for b.Loop() {
					if out, err := r.as(alice, c.command...); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
			})
		}
	}
}

// BenchmarkSbatch is how many batch jobs of one task a second are over, submitted as an array, by turns. The budget of
// weft.so is 0.95 of the jobs without hooks.
func BenchmarkSbatch(b *testing.B) {
	const jobs, rounds = 24, 12
	all := rivals(b, 2)
	took := make([]time.Duration, len(all))
	var ratios []float64
	for b.Loop() {
		for range rounds {
			var one [4]time.Duration
			for i, r := range all {
				began := time.Now()
				r.batch(alice, "true", "-N1", "-n1", fmt.Sprint("--array=1-", jobs), "-o", "/dev/null")
				until(b, "all jobs are over", func() (bool, string) {
					out, err := r.root("squeue", "-h", "-a")
					return err == nil && strings.TrimSpace(out) == "", out
				})
				one[i] = time.Since(began)
				took[i] += one[i]
			}
			ratios = append(ratios, float64(one[0])/float64(one[3]))
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, r := range all {
		b.ReportMetric(jobs*float64(len(ratios))/took[i].Seconds(), r.name+"-jobs/s")
	}
	slices.Sort(ratios)
	b.ReportMetric(middle(ratios), "spank-of-none")
	b.ReportMetric(0.95, "budget")
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
