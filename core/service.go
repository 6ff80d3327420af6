package core

import (
	"fmt"
	"slices"
)

// OwnerKind says how the kernel matches a service's owner.
type OwnerKind uint8

// The kinds of members of a CXI service (enum cxi_svc_member_type).
const (
	OwnerNone  OwnerKind = iota // no member: the service is open to everyone, or Weft did not make its restriction
	OwnerUID                    // effective uid, as the initial user namespace counts it
	OwnerGID                    // effective gid
	OwnerNetNS                  // a network namespace's inode; SHS 14 and newer
)

// Owner is who may use a service. uid and gid 4294967295 are invalid (EBADR).
type Owner struct {
	Kind OwnerKind
	ID   uint32
}

// String says who may use the service: "uid 1000", "gid 100", "netns 4026531840" or "anyone".
func (o Owner) String() string {
	switch o.Kind {
	case OwnerUID:
		return fmt.Sprint("uid ", o.ID)
	case OwnerGID:
		return fmt.Sprint("gid ", o.ID)
	case OwnerNetNS:
		return fmt.Sprint("netns ", o.ID)
	case OwnerNone:
	}
	return "anyone"
}

// UID is the owner of a job's services.
func UID(uid uint32) Owner { return Owner{OwnerUID, uid} }

// Service is a CXI service on a NIC. A NIC keeps no label for it and may reuse an id at once. So Device, ID, VNIs and
// Owner together identify it.
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
	// LNIs is how many LNIs share an RGID (cxil_get_svc_lpr), in a list of services that are not the driver's own. 0: not
	// known.
	LNIs uint16
}

// Same reports whether s and t are the same service: device, id, owner and VNIs.
func (s Service) Same(t Service) bool {
	return s.Device == t.Device && s.ID == t.ID && s.Owner == t.Owner && slices.Equal(s.VNIs, t.VNIs)
}

// ServiceSpec describes a service to create. It always restricts members, VNIs and classes, and its limits always
// apply.
type ServiceSpec struct {
	Device  string
	Owner   Owner
	VNIs    []VNI // 1 to MaxVNIs; or more, as IsVNIRange says: SHS 13.1 and newer
	Classes Classes
	Limits  Limits
}

// Created is the result of one ServiceSpec: the service, read back from the NIC, or the error.
type Created struct {
	Service Service
	Err     error // Exhausted with Short, Conflict, Invalid, Unavailable …
}
