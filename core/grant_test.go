package core

import (
	"fmt"
	"strings"
	"testing"
)

func TestAShownGrantHasNoToken(t *testing.T) {
	g := Grant{VNIs: []VNI{1024}, Collective: &Collective{JobID: "7", Token: "s3cr3t", Addresses: 8}}
	s := g.Shown()
	if c := s.Collective; c.Token != "" || c.JobID != "7" || c.Addresses != 8 || len(s.VNIs) != 1 {
		t.Errorf("%+v", s)
	}
	if g.Collective.Token != "s3cr3t" {
		t.Error("the grant itself has lost it")
	}
	if s := (Grant{}).Shown(); s.Collective != nil {
		t.Errorf("%+v", s)
	}
}

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
