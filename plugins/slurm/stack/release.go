package stack

import (
	"fmt"
	"regexp"
	"strconv"
)

// Release is a release of Slurm as slurm/slurm_version.h has it: 0x160508 is 22.05.8. 0 is none that is known.
type Release uint32

// String gives "22.05.8".
func (r Release) String() string { return fmt.Sprintf("%d.%02d.%d", r>>16&0xff, r>>8&0xff, r&0xff) }

// Major gives "22.05", which must be the plugin's and Slurm's alike (_verify_syms, plugin.c, 22.05.8).
func (r Release) Major() string { return fmt.Sprintf("%d.%02d", r>>16&0xff, r>>8&0xff) }

var told = regexp.MustCompile(`\b(\d{2})\.(\d{2})\.(\d{1,3})`)

// ParseRelease finds the release in the answer to -V or --version: "slurm 23.11.4", "slurm-wlm 22.05.8".
func ParseRelease(text string) Release {
	m := told.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	var r Release
	for _, digits := range m[1:] {
		n, err := strconv.ParseUint(digits, 10, 8)
		if err != nil {
			return 0
		}
		r = r<<8 | Release(n)
	}
	return r
}
