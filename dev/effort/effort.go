// Package effort says how much the tests try. Plain `go test` tries what tells within two minutes whether a change is right; WEFT_FULL=1 tries all that
// guards a merge, and WEFT_NIGHT=1 what takes too long for that.
package effort

import (
	"os"
	"testing"
)

// Full says whether the tests try everything: WEFT_FULL is set, and the run is not -short, as it is under the race detector.
func Full() bool { return os.Getenv("WEFT_FULL") != "" && !testing.Short() }

// NeedFull skips a test that does not try everything.
func NeedFull(t testing.TB) {
	t.Helper()
	if !Full() {
		t.Skip("it takes long: with WEFT_FULL=1 only, and not with -short")
	}
}

// NeedNight skips a test that takes too long to guard a merge.
func NeedNight(t testing.TB) {
	t.Helper()
	if NeedFull(t); os.Getenv("WEFT_NIGHT") == "" {
		t.Skip("it takes minutes: `make night` runs it, with WEFT_NIGHT=1")
	}
}
