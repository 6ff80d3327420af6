package sim

import (
	"bytes"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// FuzzState: whatever a state file holds, reading it ends in an error or in NICs that can be written and read again, and used.
func FuzzState(f *testing.F) {
	n := kernel.New(&kernel.R1401)
	for _, vni := range []core.VNI{1000, 2000} {
		CreateOn(&n, core.ServiceSpec{Device: "cxi0", Owner: core.UID(1000), VNIs: []core.VNI{vni}, Limits: core.Limits{core.TLE: {Max: 8, Reserved: 8}}})
	}
	seed, err := encodeState(node{booted: "b1", nics: []kernel.NIC{n, kernel.New(&kernel.R1401)}}, &kernel.R1401)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"version":1,"boot":"b1","release":"14.0.1","nics":[[{"ID":7,"LPR":1,"TLEPool":-1}]]}`))
	f.Add([]byte(`{"version":1,"boot":"b1","release":"14.0.1","nics":[[]],"bus":{"loads":1,"next":3,"cards":[{"number":2,"gone":true}]}}`))
	f.Add([]byte(`{"version":9}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := decodeState(data)
		if err != nil {
			return
		}
		again, err := encodeState(n, &kernel.R1401)
		if err != nil {
			t.Fatal(err)
		}
		n2, err := decodeState(again)
		if err != nil || n2.booted != n.booted || len(n2.nics) != len(n.nics) {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if third, _ := encodeState(n2, &kernel.R1401); !bytes.Equal(again, third) {
			t.Fatalf("it changes each time:\n%s\n%s", again, third)
		}
		for i := range n.nics {
			for _, s := range ServicesOn(&n.nics[i], "cxi0") {
				DestroyOn(&n.nics[i], s)
			}
			CreateOn(&n.nics[i], core.ServiceSpec{Device: "cxi0", Owner: core.UID(1000), VNIs: []core.VNI{5}})
		}
	})
}

func FuzzFaults(f *testing.F) {
	f.Add([]byte(`[{"kind":"busy","device":"cxi0","for":30000000000,"until":"2026-01-01T00:00:00Z"},{"kind":"fail","nth":2,"call":"create"}]`))
	f.Add([]byte(`[{"kind":"latency","delay":5}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		faults, err := decodeFaults(data)
		for _, fault := range faults {
			if err != nil || fault.check() != nil {
				t.Fatalf("%v was taken: %v", fault, err)
			}
		}
		d := New(Options{NICs: 1})
		d.complete()
		d.faults = faults
		d.consult(0, CallCreate)
	})
}
