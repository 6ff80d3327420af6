package bolt

import "testing"

// A file is compacted where more than half of it is free, unless it is small.
func TestWasteful(t *testing.T) {
	const large = 2 * compactAbove / pageSize
	for s, want := range map[shape]bool{
		{pages: large, used: large/2 - 1}: true, {pages: large, used: large / 2}: false,
		{pages: compactAbove / pageSize}: false, {pages: compactAbove/pageSize + 1}: true,
	} {
		if got := s.wasteful(); got != want {
			t.Errorf("%+v: %v, want %v", s, got, want)
		}
	}
}
