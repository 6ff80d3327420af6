package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// apply runs `weft policy apply` and gives its exit code and what it says.
func (d *daemons) apply(args ...string) (int, string) {
	d.t.Helper()
	d.must(os.RemoveAll(d.path("apply.log")))
	c := d.weft("apply.log", append([]string{"--dir", d.path("run"), "policy", "apply"}, args...)...)
	_ = c.Wait()
	return c.ProcessState.ExitCode(), d.log("apply")
}

func TestPolicyApply(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	rules := d.withRules()
	d.up()
	config, next := "--config="+d.path("server.hcl"), d.path("next")
	d.must(os.Mkdir(next, 0o755))
	text, err := os.ReadFile(filepath.Join(rules, "a.policy.hcl"))
	d.must(err)
	file := filepath.Join(next, "n.policy.hcl")
	first := d.status().Policy
	holds := func(want string) {
		t.Helper()
		var got []string
		for _, dir := range []string{rules, d.dir} {
			entries, err := os.ReadDir(dir)
			d.must(err)
			for _, e := range entries {
				if dir == rules || strings.HasSuffix(e.Name(), ".next") {
					got = append(got, e.Name())
				}
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("the folder holds %s, want %s", s, want)
		}
	}
	refused := func(code int, say string, args ...string) {
		t.Helper()
		got, said := d.apply(args...)
		if got != code || !strings.Contains(said, say) {
			t.Errorf("it exits with %d, want %d, and does not say %q:\n%s", got, code, say, said)
		}
		if st := d.status(); st.Policy != first || st.Refused != nil {
			t.Errorf("policy %s is in force, want %s; %+v", st.Policy, first, st.Refused)
		}
		holds("a.policy.hcl a_test.policy.hcl")
	}

	d.must(os.WriteFile(file, []byte("vniss = []\n"), 0o644))
	refused(2, "n.policy.hcl:1", config, next)
	d.must(os.WriteFile(file, append(text, failing...), 0o644))
	refused(1, `the test case "a job has a network" fails`, config, next) // by the test that lies in the folder
	d.must(os.WriteFile(file, append(text, "\nmin_nics = 1\n"...), 0o644))
	refused(1, "", config, "--dir", d.path("nowhere"), next)

	// What the server refuses, though nothing is wrong with the policy: the folder is put back.
	d.edit(theServer, `"2000-2009"`, `"2000-200x"`)
	other := d.path("other.hcl")
	was, err := os.ReadFile(d.path("server.hcl"))
	d.must(err)
	d.must(os.WriteFile(other, []byte(strings.ReplaceAll(string(was), "200x", "2009")), 0o644))
	if code, said := d.apply("--config", other, next); code != 1 || !strings.Contains(said, "is what it was: server: the reload was refused") {
		t.Errorf("%d: %s", code, said)
	}
	holds("a.policy.hcl a_test.policy.hcl")
	if st := d.status(); st.Policy != first || st.Refused == nil {
		t.Errorf("%+v", st)
	}
	d.edit(theServer, "200x", "2009")

	// Another folder than the server's is no policy in force.
	elsewhere := d.path("elsewhere")
	d.must(os.Mkdir(elsewhere, 0o755))
	d.must(os.WriteFile(other, []byte(strings.ReplaceAll(string(was), rules, elsewhere)), 0o644))
	d.edit("other", "200x", "2009")
	refused(1, "it does not read this folder", "--config", other, next)

	code, said := d.apply(config, "-o", "json", next)
	if code != 0 || !strings.Contains(said, `"before": "`+first+`"`) {
		t.Fatalf("%d: %s", code, said)
	}
	if st := d.status(); st.Policy == first || !strings.Contains(said, `"policy": "`+st.Policy+`"`) {
		t.Errorf("%s is in force, and it said %s", st.Policy, said)
	}
	holds("a_test.policy.hcl n.policy.hcl")
	d.clean()
}
