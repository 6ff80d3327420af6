// Package kerneltest holds the rules of the CXI driver as a table: an operation, and the answer of each release. The
// rules were read in the sources of shs-cxi-driver. The table tests the model of the driver (package kernel), and the
// calls of Weft's CXI driver through libcxi.
package kerneltest

import (
	"slices"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// NIC is a NIC under test. Its methods are those of kernel.NIC.
type NIC interface {
	Alloc(kernel.Caller, *kernel.Desc) (uint32, refusal.FailInfo, kernel.Errno)
	Destroy(kernel.Caller, uint32) kernel.Errno
	Get(uint32) (kernel.Service, kernel.Errno)
	Services() []kernel.Service
	InUse(uint32) [core.NumResources]uint16
	Enable(kernel.Caller, uint32, bool) kernel.Errno
	SetLPR(c kernel.Caller, id, lpr uint32) kernel.Errno
	LPR(uint32) (uint32, kernel.Errno)
	SetVNIRange(c kernel.Caller, id, from, to uint32) kernel.Errno
	VNIRange(uint32) (from, to uint16, err kernel.Errno)
	SetNetNS(c kernel.Caller, id, netns uint32) kernel.Errno
	NetNS(uint32) (uint32, kernel.Errno)
	ExclusiveCP(uint32) (bool, kernel.Errno)

	AllocLNI(kernel.Caller, uint32) (uint32, kernel.Errno)
	FreeLNI(uint32) kernel.Errno
	AllocCP(c kernel.Caller, lni uint32, vni uint16, class int) kernel.Errno
	SetEthernet(bool)
	Use(lni uint32, r core.Resource, count uint16) kernel.Errno
}

// Answers are an error or a reading for each release: the tags release/shs-12.0.0, 13.0.0, 13.1.0, 14.0.0 and 14.0.1,
// and the branch main as of 9ce667e. 12.0.1 and 12.0.2 do not differ from 12.0.0 here.
type Answers [6]string

// Drivers are the releases that have Answers, in their order.
var Drivers = [len(Answers{})]*kernel.Behaviour{
	&kernel.R120, &kernel.R130, &kernel.R131, &kernel.R1400, &kernel.R1401, &kernel.Main,
}

// row is one rule.
type row struct {
	rule   string
	source string // the function that decides, and its file
	do     func(testing.TB, NIC) string
	want   Answers
}

// Test runs every rule on NICs that a driver has just probed.
func Test(t *testing.T, probed func(testing.TB, *kernel.Behaviour) NIC) {
	for i, b := range Drivers {
		test := func(b *kernel.Behaviour, tables ...[]row) {
			for _, r := range slices.Concat(tables...) {
				t.Run(r.rule+"/"+b.Release, func(t *testing.T) {
					if got := r.do(t, probed(t, b)); got != r.want[i] {
						t.Errorf("%s, want %s: see %s", got, r.want[i], r.source)
					}
				})
			}
		}
		test(b, system, allocs, members, settings, namespaces, lnis, sends, uses)
		unshared := *b
		unshared.NoSharing = b.OpenDisabled // the parameter is new in 13.1
		test(&unshared, withoutSharing)
	}
}

const (
	ok      = "ok"
	perm    = "EPERM"
	noent   = "ENOENT"
	busy    = "EBUSY"
	exists  = "EEXIST"
	invalid = "EINVAL"
	nospace = "ENOSPC"
	badr    = "EBADR"
	revoked = "EKEYREVOKED"
)

func always(answer string) Answers { return Answers{answer, answer, answer, answer, answer, answer} }

// from130 is an answer of 13.0 and newer, from131 one of 13.1 and newer, and so on.
func from130(old, answer string) Answers { return Answers{old, answer, answer, answer, answer, answer} }
func from131(old, answer string) Answers { return Answers{old, old, answer, answer, answer, answer} }
func from140(old, answer string) Answers { return Answers{old, old, old, answer, answer, answer} }

// inOrder is an answer that depends on the order of services: of their creation, or of their ids.
func inOrder(made, ids string) Answers { return Answers{made, made, made, made, made, ids} }

// within is an answer of 13.0 to 14.0.0, where each VNI was one service's alone.
func within(answer string) Answers { return Answers{ok, answer, answer, answer, ok, ok} }
