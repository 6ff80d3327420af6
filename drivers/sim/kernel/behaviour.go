package kernel

// Overlap is what the driver does when a new service names a VNI that another one on the NIC has.
type Overlap uint8

// The three rules that SHS releases have had.
const (
	OverlapExact   Overlap = iota // two services may both name it; an overlap with a VNI range is EEXIST
	OverlapRefused                // EEXIST; the default service owns its VNIs even while it is disabled
	OverlapAllowed                // nothing is checked
)

// Behaviour is what differs between releases of the driver.
type Behaviour struct {
	Release         string
	Overlap         Overlap
	NeedVNI         bool // restricted_vnis with no VNI is EINVAL
	DuplicateMember bool // two equal members are EEXIST
	CheckMemberID   bool // uid or gid 4294967295 is EBADR
	MemberTypes     MemberType
	LEPoolByMax     bool // a service takes an LE pool for any LE max; else only for LEs reserved
	LEPoolFirst     int8 // lowest LE pool that a service can have
	PoolsInFailInfo bool // no_le_pools and no_tle_pools are set
	OpenDisabled    bool // without restricted_vnis a service is made disabled: a VNI range must be set first
}

// R1401 is SHS 14.0.1.
var R1401 = Behaviour{
	Release:         "14.0.1",
	Overlap:         OverlapExact,
	DuplicateMember: true,
	CheckMemberID:   true,
	MemberTypes:     memberTypes,
	LEPoolFirst:     1,
	PoolsInFailInfo: true,
	OpenDisabled:    true,
}

// Behaviours are the releases that the model knows, newest first.
func Behaviours() []*Behaviour { return []*Behaviour{&R1401} }
