package core

import (
	"fmt"
	"strconv"
	"strings"
)

// VNI is a virtual network identifier, the tag on every packet of a job: 1 to 65535. A NIC never accepts 0 (libcxi:
// EINVAL).
type VNI uint16

// DefaultVNIs belong to the default CXI service (driver parameter default_vnis {1,10}). No job ever gets them.
var DefaultVNIs = [2]VNI{1, 10}

// IsDefault reports whether v is one of DefaultVNIs.
func (v VNI) IsDefault() bool { return v == DefaultVNIs[0] || v == DefaultVNIs[1] }

// MaxVNIs is how many VNIs one CXI service can name (struct cxi_svc_desc, vnis[4]).
const MaxVNIs = 4

// IsVNIRange reports whether a CXI service can have vnis as a VNI range (cxil_svc_set_vni_range). They follow one
// another, their number is a power of two, and the first is a multiple of that number. More than MaxVNIs VNIs must be
// such a range.
func IsVNIRange(vnis []VNI) bool {
	n := len(vnis)
	if n == 0 || n&(n-1) != 0 || vnis[0] == 0 || int(vnis[0])%n != 0 {
		return false
	}
	for i, v := range vnis {
		if int(v) != int(vnis[0])+i {
			return false
		}
	}
	return true
}

// ParseVNI reads a decimal VNI, 1 to 65535. The error is BadCall.
func ParseVNI(s string) (VNI, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, Errorf(BadCall, "VNI %q: it is not a number from 1 to 65535", Clip(s)).
			WithRemedy("give one VNI in decimal, such as 4034")
	}
	return VNI(n), nil
}

// VNIRanges writes VNIs for people, in their order: three or more that follow one another are a range, as in
// "1024-1279,4034". A text of more than 256 bytes ends with the number of VNIs that it leaves out.
func VNIRanges(vnis []VNI) string { return ranges(vnis, 256) }

// AllVNIRanges is VNIRanges without a bound.
func AllVNIRanges(vnis []VNI) string { return ranges(vnis, 8*len(vnis)) }

func ranges(vnis []VNI, most int) string {
	var b strings.Builder
	for i, n := 0, 0; i < len(vnis); i += n {
		if b.Len() > most {
			fmt.Fprintf(&b, " and %d more", len(vnis)-i)
			break
		}
		for n = 1; i+n < len(vnis) && int(vnis[i+n]) == int(vnis[i])+n; n++ {
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if fmt.Fprintf(&b, "%d", vnis[i]); n > 2 {
			fmt.Fprintf(&b, "-%d", vnis[i+n-1])
		} else {
			n = 1
		}
	}
	return b.String()
}

// FormatVNIs writes VNIs as the comma list of SLINGSHOT_VNIS.
func FormatVNIs(vnis []VNI) string {
	var b strings.Builder
	for i, v := range vnis {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d", v)
	}
	return b.String()
}
