package compare

import "github.com/weft-hpc/weft/policy"

// NewStuckShadow is NewShadow, but it looks at nothing until run is called.
func NewStuckShadow(p, live *policy.Policy) (_ *Shadow, run func()) {
	s := newShadow(p, live)
	return s, func() { go s.run() }
}

// MaxGroups is how many groups a Shadow keeps.
const MaxGroups = maxGroups
