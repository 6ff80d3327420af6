package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// withRules gives the server a policy folder of its own, with a test that passes.
func (d *daemons) withRules() string {
	d.t.Helper()
	shipped, err := filepath.Abs("../../policy")
	d.must(err)
	rules := d.path("rules")
	d.must(os.Mkdir(rules, 0o755))
	text, err := os.ReadFile(filepath.Join(shipped, "default.policy.hcl"))
	d.must(err)
	d.must(os.WriteFile(filepath.Join(rules, "a.policy.hcl"), text, 0o644))
	d.must(os.WriteFile(filepath.Join(rules, "a_test.policy.hcl"), []byte(passing), 0o644))
	d.edit(theServer, shipped, rules)
	return rules
}

const passing = `case "a job has a network" {
  job {
    user  = "alice"
    nodes = 1
    cores = 8
  }
  expect {
    vnis = ["app"]
  }
}
`

// failing refuses the job of the test.
const failing = `deny "no alice" {
  match { users = ["alice"] }
  message = "not today"
}
`

func (d *daemons) status() server.Status {
	d.t.Helper()
	var st server.Status
	d.must(hook.Call(d.t.Context(), d.socket(), "status", nil, &st))
	return st
}

func TestPolicyReload(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	rules := d.withRules()
	d.up()
	k := d.mustBegin("n1")
	first := d.status()
	if first.Refused != nil {
		t.Fatalf("no reload was: %+v", first.Refused)
	}

	// A test beside the policy fails: the policy from before decides, and status says so until a reload is taken.
	more := filepath.Join(rules, "b.policy.hcl")
	d.must(os.WriteFile(more, []byte(failing), 0o644))
	said := d.reload("run")
	for _, part := range []string{"a_test.policy.hcl:1", `the test case "a job has a network" fails`, "nothing was changed"} {
		if !strings.Contains(said, part) {
			t.Errorf("it does not say %q:\n%s", part, said)
		}
	}
	st := d.status()
	if st.Policy != first.Policy || st.Refused == nil || !strings.Contains(st.Refused.Why, `the test case "a job has a network" fails`) {
		t.Fatalf("after a reload that was refused: %+v, %+v", st, st.Refused)
	}
	d.must(d.weft("status.log", "--dir", d.path("run"), "status").Wait())
	if !strings.Contains(d.log("status"), "THE LAST RELOAD WAS REFUSED") {
		t.Errorf("status says %s", d.log("status"))
	}
	if !strings.Contains(d.log(theServer), "the reload was refused; the old configuration stays in force") {
		t.Error("the log does not tell")
	}
	second := d.mustBegin("n1")
	second.finish()

	// SIGHUP with a typo does the same, and the log tells.
	d.must(os.WriteFile(more, []byte("vniss = []\n"), 0o644))
	d.must(d.procs[theServer].Process.Signal(syscall.SIGHUP))
	d.until("status has the newer reason", func() (bool, string) {
		st := d.status()
		return st.Refused != nil && strings.Contains(st.Refused.Why, "vniss") && st.Policy == first.Policy, d.log(theServer)
	})

	// What is right is in force at once, and nothing is refused any more.
	d.must(os.WriteFile(more, []byte("min_nics = 1\n"), 0o644))
	if said := d.reload("run"); !strings.Contains(said, "policy files: in force now") {
		t.Error(said)
	}
	if st := d.status(); st.Refused != nil || st.Policy == first.Policy {
		t.Errorf("after a reload that was taken: %+v, %+v", st, st.Refused)
	}
	k.finish()
	d.clean()
}
