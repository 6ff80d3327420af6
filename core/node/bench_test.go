package node

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A prepare and a clean-up on 4 NICs, through the machine alone: 10 Steps. others is how many jobs are there already.
func BenchmarkJob(b *testing.B) {
	for _, others := range []int{0, 200} {
		b.Run(map[int]string{0: "alone", 200: "beside 200"}[others], func(b *testing.B) {
			w := newBench(4)
			m := w.m
			now := core.Moment{}
			var call uint64
			reading := w.nics.reading(0)
			run := func(id core.Key, end bool) {
				call++
				_, acts := m.Step(now, Hook{Call: call, Ask: core.Intent{Action: core.Prepare, Key: id, UID: 1000, Began: int64(2 * call)}, Until: 8 * time.Second})
				res := acts[0].(Reserve)
				_, acts = m.Step(now, Reserved{Attempt: res.Attempt, Grant: grantOf(res, core.VNI(100+id.Generation%60000))})
				reading.Attempt = acts[0].(Look).Attempt
				_, acts = m.Step(now, reading)
				c := acts[0].(Create)
				made := Made{Attempt: c.Attempt}
				for _, s := range c.Specs {
					made.Results = append(made.Results, core.Created{Service: core.Service{Device: s.Device, ID: 7, Owner: s.Owner, VNIs: s.VNIs, Limits: s.Limits}})
				}
				m.Step(now, made)
				if !end {
					return
				}
				_, acts = m.Step(now, Hook{Call: call, Ask: core.Intent{Action: core.CleanUp, Key: id, Began: int64(2*call + 1)}, Until: 8 * time.Second})
				reading.Attempt = acts[1].(Look).Attempt
				with := reading
				for _, r := range made.Results {
					with.Services = append(with.Services[:len(with.Services):len(with.Services)], r.Service)
				}
				_, acts = m.Step(now, with)
				d := acts[0].(Destroy)
				_, acts = m.Step(now, Removed{Attempt: d.Attempt, Errs: make([]*core.Error, len(d.Services))})
				reading.Attempt = acts[0].(Look).Attempt
				m.Step(now, reading)
				m.Step(now, Ordered{core.Orders{Forget: []core.Run{d.Run}}})
			}
			for i := range others {
				run(job("old", uint32(i)), false)
			}
			b.ReportAllocs()
			i := uint32(0)
			for b.Loop() {
				i++
				run(job("new", i), true)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10, "ns/step")
		})
	}
}
