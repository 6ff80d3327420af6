package allocator

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-hpc/weft/core"
	"pgregory.net/rapid"
)

// model is what an Allocator must do, in maps: no bitmap, no queue.
type model struct {
	pools []Pool
	holds map[core.VNI]int
	back  []core.VNI // returned and not taken since, in the order in which they came back
	given map[core.VNI]bool
}

func (m *model) in(pool string, v core.VNI) bool {
	for _, p := range m.pools {
		for _, r := range p.Ranges {
			if p.Name == pool && r.First <= v && v <= r.Last {
				return v != 1 && v != 10 && v != 0
			}
		}
	}
	return false
}

func (m *model) free(pool string) map[core.VNI]bool {
	out := map[core.VNI]bool{}
	for _, p := range m.pools {
		for _, r := range p.Ranges {
			for v := int(r.First); v <= int(r.Last); v++ {
				if m.in(pool, core.VNI(v)) && m.holds[core.VNI(v)] == 0 {
					out[core.VNI(v)] = true
				}
			}
		}
	}
	return out
}

func (m *model) take(v core.VNI) {
	m.holds[v]++
	m.given[v] = true
	if i := slices.Index(m.back, v); i >= 0 {
		m.back = slices.Delete(m.back, i, i+1)
	}
}

func (m *model) give(v core.VNI) {
	if m.holds[v] == 0 {
		return
	}
	if m.holds[v]--; m.holds[v] == 0 {
		delete(m.holds, v)
		m.back = append(m.back, v)
	}
}

// drawPools draws pools that may be wrong.
func drawPools(t *rapid.T) []Pool {
	var out []Pool
	for i := range rapid.IntRange(0, 3).Draw(t, "pools") {
		p := Pool{Name: fmt.Sprint("p", i)}
		for range rapid.IntRange(1, 2).Draw(t, "ranges") {
			base := rapid.SampledFrom([]int{1, 60, 120, 190, 65460}).Draw(t, "base")
			first := base + rapid.IntRange(0, 40).Draw(t, "first")
			p.Ranges = append(p.Ranges, Range{core.VNI(first), core.VNI(min(first+rapid.IntRange(0, 70).Draw(t, "length"), last))})
		}
		out = append(out, p)
	}
	return out
}

// legal decides the same as check, the slow way.
func legal(pools []Pool) bool {
	seen := map[core.VNI]bool{}
	for _, p := range pools {
		gives := 0
		for _, r := range p.Ranges {
			for v := int(r.First); v <= int(r.Last); v++ {
				if seen[core.VNI(v)] {
					return false
				}
				seen[core.VNI(v)] = true
				if v != 1 && v != 10 {
					gives++
				}
			}
		}
		if gives == 0 {
			return false
		}
	}
	return true
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{pools: []Pool{{"p0", []Range{{1, 40}}}, {"p1", []Range{{64, 191}, {200, 200}}}}, holds: map[core.VNI]int{}, given: map[core.VNI]bool{}}
		a, err := New(m.pools)
		if err != nil {
			t.Fatal(err)
		}
		name := rapid.SampledFrom([]string{"p0", "p1", "p2", "gone"})
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				pool := name.Draw(t, "pool")
				for range rapid.IntRange(1, 12).Draw(t, "n") {
					free := m.free(pool)
					v, err := a.Take(pool)
					if (err == nil) != (len(free) > 0) {
						t.Fatalf("take of %s with %d free: %v", pool, len(free), err)
					}
					if err != nil {
						return
					}
					if !m.free(pool)[v] {
						t.Fatalf("took %d, which is not free in %s", v, pool)
					}
					if m.given[v] { // then all that was free when it came back must be gone
						for w := range m.free(pool) {
							if !m.given[w] || slices.Index(m.back, w) < slices.Index(m.back, v) {
								t.Fatalf("%d is given again while %d was free for longer", v, w)
							}
						}
					}
					m.take(v)
				}
			},
			"hold": func(t *rapid.T) {
				v := core.VNI(rapid.IntRange(1, 210).Draw(t, "vni"))
				a.Hold(v)
				m.take(v)
			},
			"give": func(t *rapid.T) {
				v := core.VNI(rapid.IntRange(0, 260).Draw(t, "vni"))
				a.Give(v)
				m.give(v)
			},
			"resize": func(t *rapid.T) {
				pools := drawPools(t)
				err := a.Resize(pools)
				if (err == nil) != legal(pools) {
					t.Fatalf("resize to %v: %v", pools, err)
				}
				if err == nil {
					m.pools = pools
				}
			},
			"": func(t *rapid.T) {
				use := a.Use()
				if len(use) != len(m.pools) {
					t.Fatalf("use names %d pools of %d", len(use), len(m.pools))
				}
				for _, p := range m.pools {
					free := m.free(p.Name)
					if size, has := count(a, p.Name); has != len(free) || use[p.Name] != size-len(free) {
						t.Fatalf("pool %s: free %d of %d, in use %d; want free %d", p.Name, has, size, use[p.Name], len(free))
					}
				}
				for v := core.VNI(0); v < 260; v++ {
					if holds(a, v) != m.holds[v] {
						t.Fatalf("VNI %d is held %d times, want %d", v, holds(a, v), m.holds[v])
					}
				}
			},
		})
	})
}

// TestReuseIsLate: what came back is given only after all that was free when it came back.
func TestReuseIsLate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(2, 200).Draw(t, "size")
		a, err := New([]Pool{{"jobs", []Range{{100, core.VNI(99 + size)}}}})
		if err != nil {
			t.Fatal(err)
		}
		taken := rapid.IntRange(1, size).Draw(t, "taken")
		var live []core.VNI
		for range taken {
			v, err := a.Take("jobs")
			if err != nil {
				t.Fatal(err)
			}
			live = append(live, v)
		}
		freed := rapid.SampledFrom(live).Draw(t, "freed")
		_, others := count(a, "jobs")
		a.Give(freed)
		for range others {
			v, err := a.Take("jobs")
			if err != nil || v == freed {
				t.Fatalf("took %v, %v before the %d that were free longer", v, err, others)
			}
		}
		if v, err := a.Take("jobs"); err != nil || v != freed {
			t.Fatalf("took %v, %v; only %d was free", v, err, freed)
		}
		if _, err := a.Take("jobs"); !errors.Is(err, core.Exhausted) {
			t.Fatalf("an empty pool gave: %v", err)
		}
	})
}
