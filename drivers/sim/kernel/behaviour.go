package kernel

// Overlap is what the driver does when a new service names a VNI that another one on the NIC has.
type Overlap uint8

// The three rules that SHS releases have had.
const (
	OverlapExact   Overlap = iota // two services may both name it; an overlap with a VNI range is EEXIST
	OverlapRefused                // EEXIST; the default service owns its VNIs even while it is disabled
	OverlapAllowed                // nothing is checked
)

// Op is a command of the driver (enum cxi_command_opcode). One that a release does not know is EINVAL, like a wrong argument.
type Op uint8

// The commands that releases differ in.
const (
	OpGetExclusiveCP Op = 79
	OpEnable         Op = 80
	OpSetVNIRange    Op = 81
	OpGetVNIRange    Op = 82
	OpSetNetNS       Op = 84
	OpGetNetNS       Op = 85
)

// Behaviour is what differs between releases of the driver.
type Behaviour struct {
	Release         string
	Ops             Op // CXI_OP_MAX: the first command that the driver does not know
	Overlap         Overlap
	NeedVNI         bool // restricted_vnis with no VNI is EINVAL
	DuplicateMember bool // two equal members are EEXIST
	CheckMemberID   bool // uid or gid 4294967295 is EBADR
	VNIsFirst       bool // VNIs are checked before members (cxi_svc_alloc in cass_svc.c of 13.0.0)
	MemberTypes     MemberType
	OpenIgnore      bool // an Ignore member lets everybody in (mended by driver commit 3f0057f, which the 13.0 branch lacks)
	AnyGroup        bool // a gid matches any group of the process, not only the effective one
	RGIDAbove       bool // an LNI gets the RGID after the last one that was looked at (mended by commits c378abe and f41baad)
	NoSharing       bool // the parameter enable_rgid_sharing=0: nothing sets LNIs per RGID
	LEPoolByMax     bool // a service takes an LE pool for any LE max; else only for LEs reserved
	LEPoolFirst     int8 // lowest LE pool that a service can have
	PoolsInFailInfo bool // no_le_pools and no_tle_pools are set
	DefaultTLEs     bool // a service without TLEs reads what those of the default pool are (copy_rsrc_use in cass_svc.c of 14.0.1)
	NotCounted      bool // LEs and TLEs without a pool of the service's own read 65535 (the same in main)
	ByID            bool // services are listed by their ids (cxi_svc_list_get in main)
	OpenNamed       bool // without restricted_vnis a service has the VNIs that it names (alloc_rxtx_profiles in cass_svc.c of 13.0.0)
	OpenDisabled    bool // without restricted_vnis a service is made disabled: a VNI range must be set first
}

// R120 is SHS 12.0, the oldest release whose source is public.
var R120 = Behaviour{
	Release:     "12.0",
	Ops:         77,
	Overlap:     OverlapAllowed,
	NeedVNI:     true,
	MemberTypes: NetNS,
	AnyGroup:    true,
	RGIDAbove:   true,
	LEPoolByMax: true,
}

// R130 is SHS 13.0: VNIs became the NIC's, each one service's alone.
var R130 = Behaviour{
	Release:       "13.0",
	Ops:           77,
	Overlap:       OverlapRefused,
	NeedVNI:       true,
	CheckMemberID: true,
	VNIsFirst:     true,
	MemberTypes:   NetNS,
	OpenIgnore:    true,
	OpenNamed:     true,
	RGIDAbove:     true,
	LEPoolByMax:   true,
}

// R131 is SHS 13.1: VNI ranges.
var R131 = Behaviour{
	Release:         "13.1",
	Ops:             84,
	Overlap:         OverlapRefused,
	DuplicateMember: true,
	CheckMemberID:   true,
	MemberTypes:     NetNS,
	LEPoolByMax:     true,
	PoolsInFailInfo: true,
	OpenDisabled:    true,
}

// R1400 is SHS 14.0.0: network namespaces.
var R1400 = Behaviour{
	Release:         "14.0.0",
	Ops:             86,
	Overlap:         OverlapRefused,
	DuplicateMember: true,
	CheckMemberID:   true,
	MemberTypes:     memberTypes,
	LEPoolByMax:     true,
	PoolsInFailInfo: true,
	OpenDisabled:    true,
}

// R1401 is SHS 14.0.1: LE pools for reservations only, and a VNI may be in several services.
var R1401 = Behaviour{
	Release:         "14.0.1",
	Ops:             86,
	Overlap:         OverlapExact,
	DuplicateMember: true,
	CheckMemberID:   true,
	MemberTypes:     memberTypes,
	LEPoolFirst:     1,
	DefaultTLEs:     true,
	PoolsInFailInfo: true,
	OpenDisabled:    true,
}

// Main is the driver's branch main as of commit 9ce667e, which is no release yet.
var Main = Behaviour{
	Release:         "main",
	Ops:             110,
	Overlap:         OverlapExact,
	DuplicateMember: true,
	CheckMemberID:   true,
	MemberTypes:     memberTypes,
	LEPoolFirst:     1,
	NotCounted:      true,
	ByID:            true,
	PoolsInFailInfo: true,
	OpenDisabled:    true,
}

// Behaviours are the releases that the model knows, newest first.
func Behaviours() []*Behaviour { return []*Behaviour{&R1401, &R1400, &R131, &R130, &R120} }

// Named is the behaviour of a release; nil for one that the model does not know.
func Named(release string) *Behaviour {
	for _, b := range Behaviours() {
		if b.Release == release {
			return b
		}
	}
	return nil
}

func (b *Behaviour) knows(op Op) bool { return op < b.Ops }
