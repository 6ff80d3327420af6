package core

import (
	"encoding/json"
	"fmt"
	"strings"
)

// VNIList is VNIs in JSON: strings, of which each is a VNI or a range of three or more that follow one another, as in
// ["1024-1279", "4034"].
type VNIList []VNI

// MarshalJSON implements json.Marshaler.
func (l VNIList) MarshalJSON() ([]byte, error) {
	out := []string{}
	if len(l) > 0 {
		out = strings.Split(AllVNIRanges(l), ",")
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler. The error is BadCall.
func (l *VNIList) UnmarshalJSON(text []byte) error {
	var parts []string
	if err := json.Unmarshal(text, &parts); err != nil {
		return Errorf(BadCall, "VNIs: %w", err)
	}
	*l = nil
	for _, p := range parts {
		from, to, ranged := strings.Cut(p, "-")
		first, err := ParseVNI(from)
		last := first
		if err == nil && ranged {
			last, err = ParseVNI(to)
		}
		if err == nil && (last < first || len(*l)+int(last-first) >= 1<<16) {
			err = Errorf(BadCall, "VNIs %q: it is not a range", Clip(p))
		}
		if err != nil {
			return fmt.Errorf("VNIs: %w", err)
		}
		for v := int(first); v <= int(last); v++ {
			*l = append(*l, VNI(v))
		}
	}
	return nil
}
