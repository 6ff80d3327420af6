package conformance

import (
	"context"
	"strings"
)

// tester is *testing.T; named so that this package does not bring package testing into the programs that use it.
type tester[T any] interface {
	Helper()
	Context() context.Context
	Run(name string, f func(T)) bool
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Test runs the suite on values that open makes, each case as a subtest. It is for a plugin's own test: the machine's NICs are as real as the driver's.
func Test[T tester[T]](t T, open func() any, site Site) {
	t.Helper()
	TestSubject(t, Value(open), site)
}

// TestSubject runs the suite on a plugin that is opened in another way, such as a program by host/probe.
func TestSubject[T tester[T]](t T, subject Subject, site Site) {
	t.Helper()
	report, err := Run(t.Context(), subject, site, Options{})
	if err != nil {
		t.Fatalf("%s: %v", subject.Name, err)
	}
	for _, r := range report.Results {
		t.Run(string(r.Of)+"/"+r.Rule+" "+r.Case, func(t T) {
			t.Helper()
			switch r.Outcome {
			case Passed:
			case Failed:
				t.Errorf("%s: %s", r.Rule, strings.Join(r.Why, "\n"))
			case Skipped:
				t.Skipf("%s", strings.Join(r.Why, "; "))
			}
		})
	}
	if report.Passed == 0 {
		t.Errorf("%s: no case was run to its end", subject.Name)
	}
}
