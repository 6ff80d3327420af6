package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
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

	// Its reload puts edits of config.hcl in force, too, and says so.
	d.edit(theServer, `"2000-2009"`, `"2000-2008"`)
	code, said = d.apply(config, next)
	if code != 0 || !strings.Contains(said, "\nserver: pool \"jobs\": in force now; ") || strings.Contains(said, "policy files") {
		t.Errorf("%d: %s", code, said)
	}
	d.clean()
}

// grant is what k got, but for which VNI and where.
func (d *daemons) grant(k *task) server.JobDetail {
	d.t.Helper()
	var rows []server.JobDetail
	d.must(hook.Call(d.t.Context(), d.socket(), "job", server.JobArgs{Job: k.job}, &rows))
	if len(rows) != 1 || len(rows[0].Shares) != 1 {
		d.t.Fatalf("%s: %+v", k.job, rows)
	}
	r := rows[0]
	r.JobRow, r.Where = server.JobRow{User: r.User, Nodes: r.Nodes}, nil
	return r
}

func TestPolicyShadow(t *testing.T) {
	t.Parallel()
	d := newDaemons(t, "2000-2009", "", "n1")
	rules := d.withRules()
	d.must(os.Remove(filepath.Join(rules, "a_test.policy.hcl")))
	d.edit(theServer, `tls         = "tls"`, "tls = \"tls\"\n  audit = \"server.audit\"")
	d.up()
	config, next := "--config="+d.path("server.hcl"), d.path("next")
	d.must(os.Mkdir(next, 0o755))
	text, err := os.ReadFile(filepath.Join(rules, "a.policy.hcl"))
	d.must(err)
	d.must(os.WriteFile(filepath.Join(next, "n.policy.hcl"), append(text, "\ndeny \"nobody\" {\n  message = \"closed\"\n}\n"...), 0o644))
	first := d.status().Policy
	say := func(want string, args ...string) {
		t.Helper()
		if code, said := d.apply(args...); code != 0 || !strings.Contains(said, want) {
			t.Errorf("%d, and it does not say %q: %s", code, want, said)
		}
	}
	say("no policy decides beside", "--shadow", "--report")
	plain := d.mustBegin("n1")
	say("which is in force; it changes nothing", config, "--shadow", next)
	k := d.mustBegin("n1") // it denies nothing
	counted := func(want string) {
		t.Helper()
		d.until("the difference is counted", func() (bool, string) {
			_, said := d.apply("--shadow", "--report")
			return strings.Contains(said, want) && strings.Contains(said, `by deny "nobody" (n.policy.hcl:`), said
		})
	}
	counted("1 of 1 job would have got something else")
	if d := cmp.Diff(d.grant(plain), d.grant(k)); d != "" || k.vnis == "" {
		t.Errorf("a job of VNI %q gets something else while a policy decides beside (-before +now):\n%s", k.vnis, d)
	}
	say(`"changed": 1`, "--shadow", "--report", "-o", "json")
	st := d.status()
	if b := st.Shadow; st.Policy != first || b == nil || b.Jobs != 1 || b.Changed != 1 || b.Policy == first {
		t.Errorf("%+v, %+v", st, b)
	}
	d.must(d.weft("status.log", "--dir", d.path("run"), "status").Wait())
	if said := d.log("status"); !strings.Contains(said, "1 of 1 job in") || !strings.Contains(said, "`weft policy apply --shadow --report`") {
		t.Errorf("status says %s", said)
	}

	// It goes on through reloads; when another policy is in force, it counts against that.
	d.reload("run")
	if b := d.status().Shadow; b == nil || b.Jobs != 1 {
		t.Errorf("%+v", b)
	}
	d.must(os.WriteFile(filepath.Join(rules, "b.policy.hcl"), []byte("min_nics = 1\n"), 0o644))
	d.reload("run")
	if b := d.status().Shadow; b == nil || b.Jobs != 0 {
		t.Errorf("%+v", b)
	}
	third := d.mustBegin("n1")
	counted("1 of 1 job would have got something else")

	second := d.status().Policy
	say("no more", "--shadow=off")
	say("no policy decides beside", "--shadow", "--report")
	if st := d.status(); st.Policy != second || st.Shadow != nil {
		t.Errorf("%+v", st)
	}

	// What is in force decides beside itself no more, and that is said.
	say("which is in force; it changes nothing", config, "--shadow", next)
	fourth := d.mustBegin("n1")
	counted("1 of 1 job would have got something else")
	beside := d.status().Shadow.Policy
	say("server: shadow: ended: policy "+beside[:12]+", which decided beside the one in force, is in force now; 1 of 1 jobs had got something else", config, next)
	if st := d.status(); st.Policy != beside || st.Shadow != nil {
		t.Errorf("%+v, %+v", st, st.Shadow)
	}
	say("no policy decides beside", "--shadow", "--report")
	for _, job := range []*task{plain, k, third, fourth} {
		job.finish()
	}
	audit, err := os.ReadFile(d.path("server.audit"))
	d.must(err)
	if n := strings.Count(string(audit), `"msg":"shadow"`); n != 4 {
		t.Errorf("%d lines of the audit tell of it, want 4 (on, off, on, in force):\n%s", n, audit)
	}
	for _, args := range [][]string{{"--report"}, {"--shadow=maybe", next}, {"--shadow=off", next}, {}} {
		if code, said := d.apply(args...); code != 2 {
			t.Errorf("%q: %d: %s", args, code, said)
		}
	}
	d.clean()
}
