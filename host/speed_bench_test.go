package host

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
)

var pairs = flag.String("pairs", "", "write the pairs of BenchmarkSpeed to this file")

// BenchmarkSpeed makes and removes the services of a job on 4 NICs: by the cxi driver and, by turns, by a C program
// that makes the fewest calls (job.c). Both use one stand-in for libcxi, whose calls of the driver are a system call
// each. Its cost is that of so many random bytes: no time of a NIC is known.
//
// The figures are the median of 40 ratios, and the ends of its 95 % interval by the binomial distribution of ranks.
func BenchmarkSpeed(b *testing.B) {
	const nics = 4
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h, err := New(Options{Dir: dir, Log: newTextLog(newLogbook())})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := h.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	var table strings.Builder
	for _, bytes := range []int{16384, 4096, 1024} {
		library, sys := shim.Speed(b, nics, bytes)
		block := core.Values{"library": library, "sysfs": sys, "processes": int64(1)}
		inC := shim.Job(b, library, nics)
		value := cxi.New()
		if err := value.Configure(b.Context(), block); err != nil {
			b.Fatal(err)
		}
		spec := Spec{Kind: Driver, Name: fmt.Sprint("cxi", bytes), Program: act("cxi"), Block: values(block)}
		p, err := h.Start(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		for _, as := range []struct {
			name   string
			driver core.NICDriver
			budget float64
		}{{"value", value, 1.5}, {"process", p.NIC(), 2}} {
			name := fmt.Sprintf("call=%dB/as=%s", bytes, as.name)
			b.Run(name, func(b *testing.B) {
				fmt.Fprintf(&table, "# %s: µs of a job in C, by Weft\n", name)
				compare(b, &table, inC, as.driver, nics)
				b.ReportMetric(as.budget, "budget-ratio")
			})
		}
	}
	if *pairs != "" {
		if err := os.WriteFile(*pairs, []byte(table.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// compare lets C and Weft take turns.
func compare(b *testing.B, table *strings.Builder, inC func(int) time.Duration, d core.NICDriver, nics int) {
	const turns, jobs = 40, 10
	byWeft := func() time.Duration {
		began := time.Now()
		for range jobs {
			job(b, d, nics)
		}
		return time.Since(began)
	}
	inC(jobs)
	byWeft()
	var ratios []float64
	for b.Loop() {
		for len(ratios) < turns {
			c, weft := inC(jobs)/jobs, byWeft()/jobs
			fmt.Fprintf(table, "%d\t%d\n", c.Microseconds(), weft.Microseconds())
			ratios = append(ratios, float64(weft)/float64(c))
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric((ratios[19]+ratios[20])/2, "median")
	b.ReportMetric(ratios[13], "low") // ranks 14 and 27
	b.ReportMetric(ratios[26], "high")
}
