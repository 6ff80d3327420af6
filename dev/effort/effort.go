// Package effort says how much the tests try. Plain `go test` tries what tells within two minutes whether a change is right; WEFT_FULL=1 tries all that
// guards a merge, and WEFT_NIGHT=1 what takes too long for that.
package effort

import (
	"flag"
	"os"
	"strconv"
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

// Night says whether the tests try what takes too long to guard a merge, too.
func Night() bool { return Full() && os.Getenv("WEFT_NIGHT") != "" }

// NeedNight skips a test that takes too long to guard a merge.
func NeedNight(t testing.TB) {
	t.Helper()
	if NeedFull(t); !Night() {
		t.Skip("it takes minutes: `make night` runs it, with WEFT_NIGHT=1")
	}
}

// Together lets n parallel tests of a package run at once, unless -parallel says how many. It is for tests that wait more
// than they work, and is called by TestMain.
func Together(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(n)) // it is a number, and each test binary has the flag
	}
}
