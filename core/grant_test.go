package core

import (
	"fmt"
	"strings"
	"testing"
)

func TestNoFormatShowsAToken(t *testing.T) {
	c := Collective{JobID: "7", Token: "s3cr3t", Addresses: 8}
	for _, v := range []any{c, &c, Grant{Collective: &c}, []Collective{c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if out := fmt.Sprintf(verb, v); strings.Contains(out, c.Token) {
				t.Errorf("%s of %T shows the token: %s", verb, v, out)
			}
		}
	}
}
