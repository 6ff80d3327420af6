package core

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Classes is a set of traffic classes, in the bits of SLINGSHOT_TCS (bit i is the kernel's class number i).
type Classes uint8

// The traffic classes that a job can have. The kernel has a fifth, ETH, which no job gets.
const (
	DedicatedAccess Classes = 1 << iota
	LowLatency
	BulkData
	BestEffort
)

// AllClasses is every class that a job can have.
const AllClasses = DedicatedAccess | LowLatency | BulkData | BestEffort

// NICRemedy is for a NIC that fails, where its driver knows no better remedy.
const NICRemedy = "look for the NIC in the kernel's log; a reboot of the node ends every service on it"

// ProfileRemedy says how an administrator brings a class to NICs whose QoS profile lacks it. The profile is a parameter
// of the driver that nothing changes while it is loaded (module_param in cass_tc.c of 12.0.0 to 14.0.1).
const ProfileRemedy = "an administrator can set the parameter active_qos_profile of module cxi_ss1 to a profile that " +
	"has it, which must be that of the fabric, and load the driver again"

var classNames = [4]string{"DEDICATED_ACCESS", "LOW_LATENCY", "BULK_DATA", "BEST_EFFORT"}

// ClassNames are the names of the classes in bit order.
func ClassNames() []string { return slices.Clone(classNames[:]) }

// ParseClass reads one class name in any case. It accepts a leading TC_, as switch/hpe_slingshot does, and CXI_TC_,
// as in the driver's enum cxi_traffic_class. The error is BadRequest.
func ParseClass(s string) (Classes, error) {
	name, long := strings.CutPrefix(strings.ToUpper(s), "CXI_TC_")
	if !long {
		name = strings.TrimPrefix(name, "TC_")
	}
	for i, n := range classNames {
		if n == name {
			return 1 << i, nil
		}
	}
	return 0, Errorf(BadRequest, "traffic class %q: there is no such class", Clip(s)).
		WithRemedy("use " + strings.Join(classNames[:], ", "))
}

// Names lists the classes of the set in bit order.
func (c Classes) Names() []string {
	out := make([]string, 0, bits.OnesCount8(uint8(c)))
	for i, n := range classNames {
		if c&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// Env is the set as SLINGSHOT_TCS shows it: 0x%x.
func (c Classes) Env() string { return fmt.Sprintf("0x%x", uint8(c)) }

func (c Classes) String() string { return strings.Join(c.Names(), ",") }
