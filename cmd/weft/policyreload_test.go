package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// withRules gives the server a policy folder of its own, with a test that passes.
func (d *daemons) withRules() string {
	d.t.Helper()
	rules := d.path("rules")
	d.must(os.Mkdir(rules, 0o755))
	text, err := os.ReadFile(d.path("policy", "default.policy.hcl"))
	d.must(err)
	d.must(os.WriteFile(filepath.Join(rules, "a.policy.hcl"), text, 0o644))
	d.must(os.WriteFile(filepath.Join(rules, "a_test.policy.hcl"), []byte(passing), 0o644))
	d.edit(theServer, d.path("policy"), rules)
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

// explain is what `weft policy explain --live` says of a job, which policy want granted.
func (d *daemons) explain(k *task, want string) string {
	d.t.Helper()
	d.must(os.RemoveAll(d.path("explain.log")))
	d.must(d.weft("explain.log", "--dir", d.path("run"), "policy", "explain", "--live", k.job).Wait())
	said := d.log("explain")
	for _, part := range []string{"policy " + want[:12], "  vnis ", "a.policy.hcl:"} {
		if !strings.Contains(said, part) {
			d.t.Errorf("of job %s it is not said %q:\n%s", k.job, part, said)
		}
	}
	return said
}

// audited sees that the newest line of an event in the server's audit tells who put what in force in place of what.
func (d *daemons) audited(event, before, now string) {
	d.t.Helper()
	lines := regexp.MustCompile(`msg=`+event+` audit=true .*`).FindAllString(d.log(theServer), -1)
	want := []string{fmt.Sprintf(" uid=%d ", os.Getuid()), " policy=" + now, " policy_before=" + before, " config="}
	for _, part := range want {
		if len(lines) == 0 || !strings.Contains(lines[len(lines)-1], part) {
			d.t.Errorf("the audit's last %s lacks %q: %q", event, part, lines)
		}
	}
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

	// A rotation of logs puts no edit in force, whether it is finished or not.
	d.must(os.WriteFile(more, []byte("rule \"wary\" {\n  min_nics = 1\n}\n"), 0o644))
	d.must(d.procs[theServer].Process.Signal(syscall.SIGHUP))
	d.until("SIGHUP was seen", func() (bool, string) {
		return strings.Contains(d.log(theServer), "only `weft reload` puts changed files in force"), d.log(theServer)
	})
	if st := d.status(); st.Refused == nil || st.Policy != first.Policy {
		t.Fatalf("after SIGHUP: %+v, %+v", st, st.Refused)
	}

	// With a reload it is in force at once, and nothing is refused any more.
	if said := d.reload("run"); !strings.Contains(said, "policy files: in force now") {
		t.Error(said)
	}
	st = d.status()
	if st.Refused != nil || st.Policy == first.Policy {
		t.Errorf("after a reload that was taken: %+v, %+v", st, st.Refused)
	}
	d.audited("reload", first.Policy, st.Policy)

	// What each job got is explained by the policy that granted it, whatever is in force by now, and after a crash too.
	later := d.mustBegin("n1")
	for _, when := range []string{"after the reload", "after a crash"} {
		if said := d.explain(k, first.Policy); !strings.Contains(said, "granted by a policy that is not in force any more") || strings.Contains(said, "wary") {
			t.Errorf("%s of a job from before it is said:\n%s", when, said)
		}
		if said := d.explain(later, d.status().Policy); !strings.Contains(said, "granted by the policy in force") || !strings.Contains(said, `rule "wary" (b.policy.hcl:1)`) {
			t.Errorf("%s of a newer job it is said:\n%s", when, said)
		}
		if when == "after the reload" {
			d.kill(theServer)
			d.start(theServer)
			if !d.serves() {
				t.Fatal(d.log(theServer))
			}
			d.attached()
			d.audited("start", st.Policy, st.Policy)
		}
	}

	// A start puts edited files in force as well.
	d.must(os.WriteFile(more, []byte("rule \"bold\" {\n  min_nics = 1\n}\n"), 0o644))
	d.kill(theServer)
	d.start(theServer)
	if !d.serves() {
		t.Fatal(d.log(theServer))
	}
	d.attached()
	d.audited("start", st.Policy, d.status().Policy)
	later.finish()
	k.finish()

	// A start puts no policy in force that a reload would refuse.
	d.must(os.WriteFile(more, []byte(failing), 0o644))
	d.kill(theServer)
	d.must(os.RemoveAll(d.path("server.log")))
	d.start(theServer)
	_ = d.procs[theServer].Wait()
	code, said := d.procs[theServer].ProcessState.ExitCode(), d.log(theServer)
	for _, part := range []string{"a_test.policy.hcl:1", `the test case "a job has a network" fails: decision: want granted`, "`weft policy test` shows all of it", "its policy cannot be used"} {
		if code != 2 || !strings.Contains(said, part) {
			t.Errorf("with a test that fails it ends with %d, and does not say %q:\n%s", code, part, said)
		}
	}
	d.must(os.Remove(more))
	d.start(theServer)
	if !d.serves() {
		t.Fatal(d.log(theServer))
	}
	d.attached()
	d.clean()
}
