package limits

import (
	"fmt"

	"github.com/weft-hpc/weft/core"
)

// Warning is one resource of which a job gets less than was wanted on one NIC.
type Warning struct {
	Device   string
	Resource core.Resource
	Want     core.Limit
	Got      core.Limit
	Pool     bool // a pool is missing, not the entries
	Forced   bool // the device makes max equal to reserved
	Share    bool // the job's share of the node is less
	Unsure   bool // other services may use up the reservation
}

func (w Warning) String() string {
	why := "the NIC has no more left"
	switch {
	case w.Unsure && w.Got.Reserved == w.Want.Reserved:
		return fmt.Sprintf("NIC %s: %v: %d reserved, and other services may use them up", w.Device, w.Resource, w.Got.Reserved)
	case w.Unsure:
		why = "that is the job's share of the node, and other services may use it up"
	case w.Share:
		why = "that is the job's share of the node"
	case w.Pool:
		why = "the NIC has no pool left for them"
	case w.Got.Reserved == w.Want.Max && w.Got.Reserved < w.Want.Reserved:
		why = "that is the max that was wanted with it"
	case w.Forced && w.Got.Reserved == w.Want.Reserved:
		why = "on this NIC that is what is reserved"
	}
	switch {
	case w.Got.Reserved < w.Want.Reserved && w.Got.Max == 0:
		return fmt.Sprintf("NIC %s: %v: none instead of %d reserved: %s", w.Device, w.Resource, w.Want.Reserved, why)
	case w.Got.Reserved < w.Want.Reserved:
		return fmt.Sprintf("NIC %s: %v: %d reserved instead of %d: %s", w.Device, w.Resource, w.Got.Reserved, w.Want.Reserved, why)
	}
	return fmt.Sprintf("NIC %s: %v: at most %d instead of %d: %s", w.Device, w.Resource, w.Got.Max, w.Want.Max, why)
}

// Compare lists what got lacks of want, in the order of resources: a smaller reservation, or a max cut below what the device has in all. A max above
// that loses nothing when it is cut and is not listed, nor is one that the device makes equal to a reservation. It sums up a Fit and the Refits after it.
func Compare(want, got core.Limits, dev core.Device) []Warning {
	var out []Warning
	for r := range core.NumResources {
		has := dev.Capacity[r]
		ceiling := min(want[r].Max, has.Total)
		if has.Total == 0 {
			ceiling = want[r].Max
		}
		if has.MaxIsReserved && got[r].Reserved > 0 {
			ceiling = 0
		}
		if got[r].Reserved < want[r].Reserved || got[r].Max < ceiling {
			out = append(out, Warning{
				Device: dev.Name, Resource: r, Want: want[r], Got: got[r], Pool: noPool(has), Forced: has.MaxIsReserved,
			})
		}
	}
	return out
}
