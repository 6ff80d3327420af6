package core

// Device is the present state of a NIC, from its driver.
type Device struct {
	Name string // as libfabric compares it: cxi0
	Bus  string // the NIC's PCI address, which stays when the NIC comes back under another name; empty: not known
	// Probed changes each time the kernel's driver begins with the NIC. That ends every service on it. Empty: not known.
	Probed  string
	Network string // the NIC's network device: hsn0; empty: not known
	Sign    Sign   // zero: only the driver can tell a restart
	Address uint32 // the NIC's 20-bit fabric address (NID)
	Up      bool   // the link, as libfabric sees it
	Retry   bool   // the retry handler is running; libfabric does not use a NIC without it
	// Open says that the default service is enabled. Then every user of the node has VNIs 1 and 10, which voids isolation.
	Open     bool
	Fault    string // why the NIC cannot be used, in words; empty when it can
	Remedy   string // of Fault, where the driver knows one
	Capacity Capacity
	// Classes of the driver's active QoS profile. A service may name others, but its traffic in them fails. 0: not known.
	Classes Classes
	// RGIDs are resource group ids. Each application that opens a service takes one; several may share one where the
	// service allows it.
	RGIDs Stock
}

// Sign is a file of the node, such as the NIC's folder in sysfs, that every user can look up. While Path has this Inode
// the kernel's driver has not begun with the NIC again.
type Sign struct {
	Path  string `json:"path"`
	Inode uint64 `json:"inode"`
}

// Stock is a number of things in all, and the number that is free. Total 0: not known.
type Stock struct {
	Total uint16
	Free  uint16
}

// Capacity describes the resources of a NIC and the hardware's rules about them, indexed by Resource. It is data:
// core/limits knows no device by name.
type Capacity [NumResources]Supply

// Supply is the capacity of one resource.
type Supply struct {
	Total         uint16 // all of the device; a service's Max may not exceed it (EINVAL)
	Free          uint16 // not reserved by any service; a Reserved above it fails (ENOSPC)
	Least         uint16 // a reservation below this is raised to it by the device (TLE: 8)
	MaxIsReserved bool   // the device forces Max to Reserved (TLE)
	Pooled        bool   // reserving any takes one of few pools (LE from SHS 14.0.1, TLE)
	PooledByMax   bool   // a pool is taken for any Max above 0, even with nothing reserved (TLE; LE up to SHS 14.0.0)
	PoolsLeft     uint16 // pools not taken, where Pooled
}
