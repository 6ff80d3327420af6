package core

// OwnerKind says how a service's owner is matched by the kernel.
type OwnerKind uint8

// The kinds of members of a CXI service (enum cxi_svc_member_type).
const (
	OwnerNone  OwnerKind = iota // no member: the service is open to everyone, or restricted by nothing that Weft made
	OwnerUID                    // effective uid, as the initial user namespace counts it
	OwnerGID                    // effective gid
	OwnerNetNS                  // a network namespace's inode; SHS 14 and newer
)

// Owner is who may use a service. uid and gid 4294967295 are invalid (EBADR).
type Owner struct {
	Kind OwnerKind
	ID   uint32
}

// UID is the owner that a job's services have.
func UID(uid uint32) Owner { return Owner{OwnerUID, uid} }

// Service is a CXI service as it stands on a NIC. A NIC has no label for it: it is known again by Device, ID, VNIs and Owner together, since an id is
// reused at once after it was destroyed.
type Service struct {
	Device  string
	ID      uint32 // 1 is the default service
	Owner   Owner
	VNIs    []VNI
	Classes Classes
	Limits  Limits
	InUse   [NumResources]uint16
	System  bool // the driver's own (ethernet, retry handler)
	Default bool // service 1
	Enabled bool
}

// Same reports whether s and t are the same service: device, id, owner and VNIs.
func (s Service) Same(t Service) bool {
	return s.Device == t.Device && s.ID == t.ID && s.Owner == t.Owner && EqualVNIs(s.VNIs, t.VNIs)
}

// ServiceSpec is a service to be made. Members, VNIs and classes are always restricted, limits always apply.
type ServiceSpec struct {
	Device  string
	Owner   Owner
	VNIs    []VNI // 1 to MaxVNIs; or more, as IsVNIRange says: SHS 13.1 and newer
	Classes Classes
	Limits  Limits
}

// Created is the result of one ServiceSpec: the service as read back from the NIC, or why there is none.
type Created struct {
	Service Service
	Err     error // Exhausted with Short, Conflict, Invalid, Unavailable …
}

// EqualVNIs reports whether a and b hold the same VNIs in the same order.
func EqualVNIs(a, b []VNI) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
