package chaos

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/dev/mutationtest"
)

// TestMutations shows that the harness can fail: it runs programs that are wrong in one place, and must find each.
// Without WEFT_NIGHT it sees only that each mutation still applies.
func TestMutations(t *testing.T) {
	paths, err := filepath.Glob("testdata/mutations/*.patch")
	must(t, err)
	var list []mutationtest.Mutation
	all := mutationtest.Mutants{}
	for _, path := range paths {
		m, err := mutationtest.Read(path)
		if err == nil {
			err = all.Add(m)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		list = append(list, m)
	}
	if t.Failed() || !effort.Night() {
		return
	}
	need(t)
	dir := t.TempDir()
	if out, err := build(dir, "-overlay", all.Overlay(t)).CombinedOutput(); err != nil {
		t.Fatalf("the mutants do not build: %v\n%s", err, out)
	}
	for i, m := range list {
		if i > 0 && list[i-1].Name == m.Name { // one more part of it
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for try := range m.Histories {
				e := episode{weft: filepath.Join(dir, "weft"), seed: *seed + uint64(try) + 1, length: 6 * time.Second}
				e.only = m.With
				if strings.HasPrefix(m.Name, "etcd-") {
					e.servers, e.members = 3, 1
				}
				e.environ = []string{mutationtest.Switch + "=" + m.Name}
				if found := e.run(t); found != nil && slices.ContainsFunc(m.Rules, func(rule string) bool {
					return strings.Contains(found.Error(), rule+": ")
				}) {
					t.Logf("seed %d finds it: %.300s", e.seed, found)
					return
				}
			}
			t.Errorf("of %d systems none breaks %v, though %s", m.Histories, m.Rules, m.Breaks)
		})
	}
}

// TestHistory shows that the model can fail.
func TestHistory(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tell := func(job string, call, back time.Duration) func(*history) {
		return func(h *history) {
			if _, is := h.began[job]; !is {
				h.began[job] = call
			}
			h.told = append(h.told, answer{claim{job, firstVNI}, call, back})
		}
	}
	list := func(job string, call, back time.Duration) func(*history) {
		return func(h *history) {
			h.reads[firstVNI] = append(h.reads[firstVNI], answer{claim{job, firstVNI}, call, back})
		}
	}
	end := func(job string, at time.Duration) func(*history) { return func(h *history) { h.over[job] = at } }
	see := func(job string, first, last time.Duration) func(*history) {
		return func(h *history) { h.seen[claim{job, firstVNI}] = &stay{first, last} }
	}
	a, b := tell("a", 1*s, 2*s), tell("b", 3*s, 4*s)
	late, ends := tell("b", 4*s, 5*s), end("a", 3*s)
	for name, c := range map[string]struct {
		ok    bool
		facts []func(*history)
	}{
		"one after the other":           {true, []func(*history){a, see("a", 2*s, 3*s), ends, late}},
		"two at once":                   {false, []func(*history){a, b}},
		"before the end":                {false, []func(*history){a, b, end("a", 5*s)}},
		"while a NIC has the service":   {false, []func(*history){a, ends, see("a", 2*s, 5*s), b}},
		"within the quarantine":         {false, []func(*history){a, ends, see("a", 2*s, 7*s/2), b}},
		"listed for the first":          {true, []func(*history){a, list("a", 3*s, 4*s), list("", 6*s, 7*s), end("a", 5*s)}},
		"listed as free":                {false, []func(*history){a, list("", 3*s, 4*s)}},
		"listed for the first too long": {false, []func(*history){a, ends, late, list("a", 6*s, 7*s)}},
		"listed for an unknown job":     {true, []func(*history){a, list("x", 3*s, 4*s)}},
	} {
		h := newHistory([]core.VNI{firstVNI})
		for _, f := range c.facts {
			f(h)
		}
		if err := h.check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
