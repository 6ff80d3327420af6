package core

// Device is a NIC as its driver sees it now.
type Device struct {
	Name     string // as libfabric compares it: cxi0
	Address  uint32 // the NIC's 20-bit fabric address (NID)
	Up       bool   // link state
	Retry    bool   // the retry handler is running; libfabric does not use a NIC without it
	Open     bool   // the default service is enabled: every user of the node has VNIs 1 and 10, which voids isolation
	Fault    string // why the NIC cannot be used, in words; empty when it can
	Capacity Capacity
	Classes  Classes // of the fabric's active QoS profile; a service may name others, but its traffic fails. 0: not known
	RGIDs    Stock   // resource group ids: each application that opens a service takes one, several may share it where the service allows it
}

// Stock is how many of something there are in all, and how many of them nobody has. Total 0: not known.
type Stock struct {
	Total uint16
	Free  uint16
}

// Capacity is what a NIC has and the hardware's rules about it, as data, indexed by Resource: core/limits knows no device by name.
type Capacity [NumResources]Supply

// Supply is the capacity of one resource.
type Supply struct {
	Total         uint16 // what the device has; a service's Max may not exceed it (EINVAL)
	Free          uint16 // what no service has reserved; a Reserved above it fails (ENOSPC)
	Least         uint16 // a reservation below this is raised to it by the device (TLE: 8)
	MaxIsReserved bool   // the device forces Max to Reserved (TLE)
	Pooled        bool   // reserving any takes one of few pools (LE from SHS 14.0.1, TLE)
	PooledByMax   bool   // a pool is taken for any Max above 0, even with nothing reserved (TLE; LE up to SHS 14.0.0)
	PoolsLeft     uint16 // pools not taken, where Pooled
}
