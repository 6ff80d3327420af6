package kernel

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// What a Cassini 1 or 2 has (cxi driver). Event queue 0 and counter 0 are not valid, hence the odd totals.
const (
	LEPools   = 16 // per processing engine
	TLEPools  = 4
	LeastTLEs = 8   // CASS_MIN_POOL_TLES
	RGIDs     = 255 // 1 to 255
	MaxLPR    = 8   // logical address contexts per RGID
)

// Total is what the device has of each resource. LE is per processing engine; there are four, and each service reserves alike in all of them.
var Total = [core.NumResources]uint16{core.PTE: 2048, core.TXQ: 1024, core.TGQ: 512, core.EQ: 2047, core.CT: 2047, core.LE: 16384, core.TLE: 2048, core.AC: 1022}

// NIC is one NIC's services and LNIs. It is a value: Clone it to keep a state. The zero value is no NIC; use New or Restore.
type NIC struct {
	b        *Behaviour
	services []Service // in the order of the driver's list
	lnis     []LNI     // by id
	reserved [core.NumResources]uint16
	lePools  uint16 // bit i: pool i is taken
	tlePools uint8
	lost     []span // VNI ranges that are no service's
	shared   bool   // services and lnis belong to another NIC too: copy before a change
}

// span is a range of VNIs.
type span struct{ min, max uint16 }

// pristine is a NIC as the driver's probe leaves it, of each behaviour.
var pristine = func() []NIC {
	var all []NIC
	for _, b := range Behaviours() {
		all = append(all, probe(b))
	}
	return all
}()

// New is a NIC just probed: the default service, disabled; the ethernet and the retry handler's service, each with its LNI.
func New(b *Behaviour) NIC {
	for i := range pristine {
		if pristine[i].b == b {
			n := pristine[i]
			n.shared = true
			return n
		}
	}
	return probe(b)
}

// Restore is a NIC with the services of a Services call and the driver's own LNIs. ok is false for services that could not stand on one NIC: a pool
// twice, more reserved than there is, an id twice.
func Restore(b *Behaviour, services []Service) (n NIC, ok bool) {
	n = NIC{b: b, services: slices.Clone(services)}
	for i := range n.services {
		s := &n.services[i]
		if s.ID == 0 || s.LPR > MaxLPR || n.find(s.ID) != s || s.NumVNIs > MaxVNIs {
			return NIC{}, false
		}
		for r := range s.Limits {
			if s.Limits[r].Reserved > Total[r]-n.reserved[r] {
				return NIC{}, false
			}
			n.reserved[r] += s.Limits[r].Reserved
		}
		if s.takesLEPool(b) {
			if s.LEPool < b.LEPoolFirst || s.LEPool >= LEPools || n.lePools>>s.LEPool&1 != 0 {
				return NIC{}, false
			}
			n.lePools |= 1 << s.LEPool
		}
		if s.TLEPool >= 0 {
			if s.TLEPool >= TLEPools || n.tlePools>>s.TLEPool&1 != 0 {
				return NIC{}, false
			}
			n.tlePools |= 1 << s.TLEPool
		}
		s.InUse = [core.NumResources]uint16{}
	}
	for i := range n.services {
		if n.services[i].System {
			_, _ = n.AllocLNI(Caller{}, n.services[i].ID) // not the driver's own where root cannot
		}
	}
	return n, true
}

// Clone is an independent copy; it costs nothing until one of the two is changed.
func (n *NIC) Clone() NIC {
	n.shared = true
	return *n
}

// own makes the slices the NIC's alone, before a change.
func (n *NIC) own() {
	if n.shared {
		n.services = append(make([]Service, 0, len(n.services)+1), n.services...)
		n.lnis = append(make([]LNI, 0, len(n.lnis)+1), n.lnis...)
		n.shared = false
	}
}

// Behaviour is the release that the NIC follows.
func (n *NIC) Behaviour() *Behaviour { return n.b }

// Services is the driver's list, in the order of creation or of ids (Behaviour.ByID). It must not be changed and is good until the next call that changes the NIC.
func (n *NIC) Services() []Service { return n.services }

// Get is one service (cxil_get_svc): EINVAL for an unknown id.
func (n *NIC) Get(id uint32) (Service, Errno) {
	if s := n.find(id); s != nil {
		return *s, OK
	}
	return Service{}, EINVAL
}

func (n *NIC) find(id uint32) *Service {
	for i := range n.services {
		if n.services[i].ID == id {
			return &n.services[i]
		}
	}
	return nil
}

// Capacity is what the NIC has, what is left of it, and the hardware's rules about it.
func (n *NIC) Capacity() core.Capacity {
	var c core.Capacity
	for r := range c {
		c[r] = core.Supply{Total: Total[r], Free: Total[r] - n.reserved[r]}
	}
	le, tle := &c[core.LE], &c[core.TLE]
	le.Pooled, le.PooledByMax, le.PoolsLeft = true, n.b.LEPoolByMax, uint16(n.poolsLeft(core.LE))
	tle.Pooled, tle.PooledByMax, tle.PoolsLeft = true, true, uint16(n.poolsLeft(core.TLE))
	tle.Least, tle.MaxIsReserved = LeastTLEs, true
	return c
}
