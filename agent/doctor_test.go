package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/store/storetest"
)

// checker is a plugin's; without findings it never answers.
type checker struct{ found []core.Finding }

func (c checker) Check(ctx context.Context) ([]core.Finding, error) {
	if c.found == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return c.found, nil
}

var pools = agent.Site{Ours: func(v core.VNI) bool { return v >= 1024 }}

func (r *rig) foreign(t *testing.T, device string, owner *uint32, vnis ...core.VNI) uint32 {
	t.Helper()
	id, err := r.driver.NICDriver.(*sim.Driver).Foreign(t.Context(), device, owner, vnis)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func finding(rows []agent.FindingRow, what string) *agent.FindingRow {
	i := slices.IndexFunc(rows, func(f agent.FindingRow) bool { return strings.Contains(f.What, what) })
	if i < 0 {
		return nil
	}
	return &rows[i]
}

func TestCleanRemovesOrphansOfWeftsVNIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := start(t)
		r.stop()
		r.log = slog.New(slog.NewJSONHandler(&log, nil))
		r.begin(t)
		if out := r.Do(t.Context(), ask(core.Prepare, "slurm", "1", 1000), root); out.Err != nil {
			t.Fatal(out.Err)
		}
		uid := uint32(4242)
		mine, other, mixed := r.foreign(t, "cxi0", &uid, 5000), r.foreign(t, "cxi0", &uid, 99), r.foreign(t, "cxi1", &uid, 5001, 98)
		before, err := r.driver.Services(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dry, _, err := r.Clean(t.Context(), pools, root, "c", "root", "", true)
		if err != nil || len(dry) != 3 {
			t.Fatalf("%+v, %v", dry, err)
		}
		if after, _ := r.driver.Services(t.Context()); len(after) != len(before) {
			t.Fatal("a dry run removed something")
		}
		rows, _, err := r.Clean(t.Context(), pools, root, "c", "root", "", false)
		if err != nil {
			t.Fatal(err)
		}
		got := map[uint32]string{}
		for _, row := range rows {
			if row.Device == "cxi0" {
				got[row.Service] = row.Result
			} else if row.Service != mixed || row.Result != "kept" {
				t.Errorf("one that has another VNI too: %+v", row)
			}
		}
		if got[mine] != "removed" || got[other] != "kept" {
			t.Errorf("%v; %d was to go and %d to stay", got, mine, other)
		}
		after, err := r.driver.Services(t.Context())
		if err != nil || len(after) != len(before)-1 {
			t.Errorf("%d services after %d, want one less: %v", len(after), len(before), err)
		}
		synctest.Wait()
		if strings.Count(log.String(), `"msg":"clean"`) != 1 {
			t.Errorf("the audit has not the one removal: %s", log.String())
		}
		// A site that knows of no pool removes nothing.
		r.foreign(t, "cxi0", &uid, 5002)
		if rows, _, err := r.Clean(t.Context(), agent.Site{}, root, "c", "root", "", false); err != nil || slices.ContainsFunc(rows, func(c agent.CleanRow) bool { return c.Result != "kept" }) {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}

// TestCleanKeepsAJobWhoseRecordIsLost until the server says that the job is over.
func TestCleanKeepsAJobWhoseRecordIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		in := ask(core.Prepare, "slurm", "1", 1000)
		if out := r.Do(t.Context(), in, root); out.Err != nil {
			t.Fatal(out.Err)
		}
		grant, err := r.server.Reserve(t.Context(), "n1", in, root) // the same again
		if err != nil {
			t.Fatal(err)
		}
		r.stop()
		r.store.Store = &storetest.Ledger{}
		r.begin(t)
		synctest.Wait()
		for _, dry := range []bool{true, false} {
			rows, _, err := r.Clean(t.Context(), pools, root, "c", "root", "", dry)
			if err != nil || len(rows) != 2 {
				t.Fatalf("%+v, %v", rows, err)
			}
			for _, row := range rows {
				if row.Result != "kept" || !strings.HasPrefix(row.Why, "job slurm/1 has it") {
					t.Errorf("dry %v: %+v", dry, row)
				}
			}
		}
		if f := finding(r.Doctor(t.Context(), pools, 0), "job slurm/1, of which this node lost its record"); f == nil {
			t.Error("the doctor does not name the job")
		}
		r.server.orders <- core.Orders{Clean: []core.Clean{{Run: grant.Run, VNIs: grant.VNIs}}}
		synctest.Wait()
		rows, _, err := r.Clean(t.Context(), pools, root, "c", "root", "", false)
		if err != nil || len(rows) != 2 || rows[0].Result != "removed" || rows[1].Result != "removed" {
			t.Errorf("after its end: %+v, %v", rows, err)
		}
	})
}

// miscounting answers so many results more than it was asked for.
type miscounting struct {
	core.NICDriver
	more int
}

func (m miscounting) Destroy(_ context.Context, services []core.Service) ([]error, error) {
	return make([]error, len(services)+m.more), nil
}

func TestCleanBelievesNoDriverThatMiscounts(t *testing.T) {
	for _, more := range []int{-1, 1} {
		synctest.Test(t, func(t *testing.T) {
			r := start(t)
			uid := uint32(4242)
			r.foreign(t, "cxi0", &uid, 5000)
			r.stop()
			a, _ := run(t, agent.Needs{Driver: miscounting{r.driver, more}, Authority: r.server})
			rows, _, err := a.Clean(t.Context(), pools, root, "c", "root", "", false)
			if err != nil || len(rows) != 1 || rows[0].Result != "failed" || !strings.Contains(rows[0].Why, "results for 1 services") {
				t.Errorf("%d results too many: %+v, %v", more, rows, err)
			}
		})
	}
}

func TestDoctorAsksEveryoneAndWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		if out := r.Do(t.Context(), ask(core.Prepare, "slurm", "1", 1000), root); out.Err != nil {
			t.Fatal(out.Err)
		}
		site := agent.Site{
			Ours: pools.Ours, NICs: func() int { return 4 },
			Checks: map[string]core.Checker{
				"scheduler tioga": checker{[]core.Finding{{Severity: core.Critical, What: "Slurm gives out VNIs by itself"}}}, "driver stuck": checker{},
			},
		}
		began := time.Now()
		rows := r.Doctor(t.Context(), site, 5*time.Second)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if rows[0].Severity != "critical" || rows[0].Of != "scheduler tioga" {
			t.Errorf("the worst is not first: %+v", rows[0])
		}
		for what, severity := range map[string]string{"driver stuck cannot look for trouble": "warning", "fewer NICs than config.hcl says": "warning"} {
			if f := finding(rows, what); f == nil || f.Severity != severity || f.Remedy == "" {
				t.Errorf("%s: %+v", what, f)
			}
		}
		services, err := r.driver.Services(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(services, func(s core.Service) bool { return !s.System && !s.Default })
		if _, err := r.driver.Destroy(t.Context(), services[i:i+1]); err != nil {
			t.Fatal(err)
		}
		if f := finding(r.Doctor(t.Context(), agent.Site{}, 0), "a running job's service is gone"); f == nil || !strings.Contains(f.Evidence, services[i].Device) {
			t.Errorf("%+v", f)
		}
	})
}

// TestDoctorNamesTheNICsThatAreAway: the server has told what the node was accepted with, and says so again when that changes.
func TestDoctorNamesTheNICsThatAreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		accepted := func(names ...string) {
			r.server.orders <- core.Orders{Head: core.Head{Store: "x", Epoch: 1, Revision: 2}, Inventory: names}
			synctest.Wait()
		}
		const good = "the NICs can be used"
		accepted("cxi0", "cxi1", "cxi2", "cxi3")
		accepted() // nothing new
		site := agent.Site{NICs: func() int { return 4 }}
		rows := r.Doctor(t.Context(), site, 0)
		f := finding(rows, "the node lacks NIC cxi[2-3] of its accepted inventory")
		if f == nil || f.Severity != "critical" || !strings.Contains(f.Evidence, "4 NICs were accepted, and the driver lists 2") || !strings.Contains(f.Remedy, "weft node accept") || finding(rows, good) != nil {
			t.Errorf("2 of 4 NICs: %+v", rows)
		}
		if finding(rows, "fewer NICs than config.hcl says") != nil {
			t.Errorf("it says the same twice: %+v", rows)
		}
		accepted("cxi0", "cxi1")
		if rows := r.Doctor(t.Context(), agent.Site{}, 0); finding(rows, "accepted inventory") != nil || finding(rows, good) == nil {
			t.Errorf("when they were accepted: %+v", rows)
		}
	})
}

// TestDoctorIsNotGood: where the driver finds that no application can use a NIC, the NICs are not called good.
func TestDoctorIsNotGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		for of, good := range map[string]bool{"driver cxi": false, "scheduler tioga": true} {
			site := agent.Site{Checks: map[string]core.Checker{of: checker{[]core.Finding{{Severity: core.Critical, What: "a fault"}}}}}
			if rows := r.Doctor(t.Context(), site, 0); (finding(rows, "the NICs can be used") != nil) != good {
				t.Errorf("%s has a critical finding: %+v", of, rows)
			}
		}
	})
}

func TestDoctorAndCleanAreRootsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		verbs := &agent.Verbs{Agent: r.Agent, Site: pools}
		body, err := json.Marshal(agent.CleanArgs{})
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"doctor", "clean"} {
			if _, err := verbs.Handle(t.Context(), core.Peer{UID: 4242}, hook.Request{Verb: verb, Body: body}); core.AsError(err) == nil || core.AsError(err).Reason != core.NotAllowed {
				t.Errorf("%s: %v", verb, err)
			}
			if _, err := verbs.Handle(t.Context(), root, hook.Request{Verb: verb, Body: body}); err != nil {
				t.Errorf("%s by root: %v", verb, err)
			}
		}
	})
}

// On a server of a data service the service that carries its block is no orphan: nobody proposes to remove it.
func TestCleanLeavesADataServicesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := sim.New(sim.Options{NICs: 2, Boot: "b"})
		served := func(vnis []core.VNI) bool { return vnis[0] == 5000 }
		a, _ := run(t, agent.Needs{Driver: driver, Authority: &authority{orders: make(chan core.Orders)}, Environ: t.TempDir(), Machine: node.Config{Served: served}})
		uid := uint32(4242)
		for _, v := range []core.VNI{5000, 5001} {
			if _, err := driver.Foreign(t.Context(), "cxi0", &uid, []core.VNI{v}); err != nil {
				t.Fatal(err)
			}
		}
		rows, _, err := a.Clean(t.Context(), pools, root, "c", "root", "", false)
		if err != nil || len(rows) != 1 || rows[0].VNIs[0] != 5001 || rows[0].Result != "removed" {
			t.Errorf("%+v, %v", rows, err)
		}
		if f := finding(a.Doctor(t.Context(), pools, 0), "who has no job"); f != nil {
			t.Errorf("%+v", f)
		}
	})
}

// crowd is a driver with so many services that Weft did not make, each with so many VNIs.
type crowd struct {
	core.NICDriver
	services []core.Service
}

func (c *crowd) Services(context.Context) ([]core.Service, error) {
	return slices.Clone(c.services), nil
}

func (c *crowd) Destroy(_ context.Context, going []core.Service) ([]error, error) {
	errs := make([]error, len(going))
	for i := range going {
		errs[i] = core.Errorf(core.NICFailed, "%s", strings.Repeat("\x01", 10_000))
	}
	return errs, nil
}

// What the doctor finds and what becomes of each orphan fit into replies, however much there is.
func TestDoctorAndCleanFitIntoReplies(t *testing.T) {
	for _, c := range []struct{ services, vnis, pages int }{{200, 2, 4}, {3, 60_000, 3}, {0, 0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			driver := &crowd{NICDriver: sim.New(sim.Options{NICs: 1, Boot: "b"})}
			for i := range c.services {
				s := core.Service{Device: "cxi0", ID: uint32(3 + i), VNIs: make([]core.VNI, c.vnis)}
				for v := range s.VNIs {
					s.VNIs[v] = core.VNI(2000 + v)
				}
				driver.services = append(driver.services, s)
			}
			needs := agent.Needs{Driver: driver, Authority: &authority{orders: make(chan core.Orders)}, Environ: t.TempDir()}
			a, _ := run(t, needs)
			long := strings.Repeat("\x01", 10_000)
			found := slices.Repeat([]core.Finding{{What: long, Evidence: long, Remedy: long}}, 1000)
			site := pools
			site.Checks = map[string]core.Checker{"driver x": checker{append(found, core.Finding{Severity: core.Critical})}}
			call := func(verb, cursor string, out any) (next string) {
				t.Helper()
				verbs := &agent.Verbs{Agent: a, Site: site}
				body, err := verbs.Handle(t.Context(), root, hook.Request{Verb: verb, Cursor: cursor, Body: []byte("{}")})
				if err != nil {
					t.Fatal(err)
				}
				if p, ok := body.(listener.Page); ok {
					body, next = p.Body, p.Next
				}
				text, _ := json.Marshal(body)
				if len(text) > listener.DefaultReply {
					t.Errorf("%s: a reply of %d bytes", verb, len(text))
				}
				if err := json.Unmarshal(text, out); err != nil {
					t.Fatal(err)
				}
				return next
			}
			told, pages := 0, 0
			for cursor, more := "", true; more; more = cursor != "" {
				var rows []agent.CleanRow
				cursor = call("clean", cursor, &rows)
				told, pages = told+len(rows), pages+1
			}
			if told != c.services || pages != c.pages {
				t.Errorf("%d of %d services in %d pages", told, c.services, pages)
			}
			var rows []agent.FindingRow
			call("doctor", "", &rows)
			left := fmt.Sprint("findings that are not shown: ", len(a.Doctor(t.Context(), site, 0))-len(rows)+1)
			if last := rows[len(rows)-1]; rows[0].Severity != "critical" || last.What != left {
				t.Errorf("%d findings, the first is %s, the last %.80q, want %q", len(rows), rows[0].Severity, last.What, left)
			}
		})
	}
}
