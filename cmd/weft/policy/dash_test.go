package policy

import (
	"strings"
	"testing"
)

func TestDashed(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"policy fmt -check", "policy fmt --check"},
		{"--config c.hcl policy fmt -check=true a", "--config c.hcl policy fmt --check=true a"},
		{"policy test -run RE -coverage -o json", "policy test --run RE --coverage -o json"},
		{"policy test -run=RE", "policy test --run=RE"},
		{"policy test -- -run", "policy test -- -run"},
		{"policy test -runs", "policy test -runs"},
		{"policy check -run", "policy check -run"},
		{"policy", "policy"},
		{"run -- policy fmt -check", "run -- policy fmt -check"},
		{"run ./policy test -run", "run ./policy test -run"},
	} {
		if got := strings.Join(Dashed(strings.Fields(test.args)), " "); got != test.want {
			t.Errorf("%s: %s, not %s", test.args, got, test.want)
		}
	}
}
