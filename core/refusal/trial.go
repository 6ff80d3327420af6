package refusal

import (
	"time"

	"github.com/weft-hpc/weft/core"
)

// Trial is the result of opening a service on a NIC as an application does. A driver that can try has the method
//
//	Try(ctx context.Context, device string, service uint32, vni core.VNI, classes core.Classes) Trial
//
// which opens the device, an LNI of the service, and a communication profile (CP) for the VNI in each of the classes,
// and gives all of them back.
type Trial struct {
	Device string        `json:"device"`
	Steps  []Step        `json:"steps"`
	Took   time.Duration `json:"took"`
}

// Step is one call of a Trial.
type Step struct {
	Name  string `json:"name"`            // Device, LNI, or the class of a CP
	Errno string `json:"errno,omitempty"` // the error number's symbol; empty: it succeeded
}

// The steps before the classes. A step that fails is the last, unless it is a class's.
const (
	StepDevice = "device"
	StepLNI    = "LNI"
)

// Do runs a step and reports whether it succeeded.
func Do[E Errno](t *Trial, name string, call func() E) bool {
	errno := call()
	s := Step{Name: name}
	if errno != 0 {
		s.Errno = errno.Error()
	}
	t.Steps = append(t.Steps, s)
	return errno == 0
}

// Failed are the steps that failed, and which of them leaves an application without the NIC: any but a class's, or the
// last class's.
func (t *Trial) Failed() (steps []Step, all bool) {
	classes, good := 0, 0
	for _, s := range t.Steps {
		isClass := s.Name != StepDevice && s.Name != StepLNI
		if isClass {
			classes++
		}
		switch {
		case s.Errno != "":
			steps = append(steps, s)
		case isClass:
			good++
		}
	}
	return steps, len(steps) > 0 && (classes == 0 || good == 0)
}

// meanings of the error numbers of a step: cxi_lni_alloc in cass_lni.c and cxi_cp_alloc in cass_cpt.c of
// shs-cxi-driver, release/shs-12.0.0 to 14.0.1. "" has those of a class.
var meanings = map[string]map[string][2]string{
	StepDevice: {
		"ELIBACC": {"users cannot load libcxi", "let them read its file and each folder on the way to it"},
		"EACCES":  {"users may not open the device file", "`chmod 0666 /dev/cxi*`, and mend the udev rule"},
		"ENOENT":  {"the NIC has no device file", "`modprobe cxi-user`, or mend the udev rule"},
	},
	StepLNI: {
		"EINVAL":      {"the service is gone, or libcxi and driver do not fit", oneRelease},
		"EKEYREVOKED": {"the service is disabled", "`cxi_service enable`, or end who disables it"},
		"EPERM":       {"the user is no member of the service", "compare `cxi_service list -v` with `weft services`"},
		"ENOSPC":      {"no resource group (RGID) is left", "`weft services` shows whose applications have them"},
	},
	"": {
		"EINVAL": {"the fabric's QoS profile lacks the class, or libcxi and driver do not fit",
			"load the driver with the profile of the fabric (active_qos_profile), or " + oneRelease},
		"ENOENT": {"no enabled service has the VNI", "compare `cxi_service list -v` with `weft services`"},
		"EPERM":  {"the VNI is another user's", "`weft services --all` shows who has it"},
		"ENOSPC": {"the NIC has no communication profile left, of 255", "end applications on the node"},
	},
}

const oneRelease = "install libcxi and driver of one release"

// Meaning says what a failed step means, and what a person does. Both are general for a number that is not known.
func (s Step) Meaning() (meaning, remedy string) {
	of, known := meanings[s.Name]
	if !known {
		of = meanings[""]
	}
	if m, known := of[s.Errno]; known {
		return m[0], m[1]
	}
	return "the NIC failed", core.NICRemedy
}
