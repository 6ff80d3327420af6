package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Bounds of a case.
const (
	patience = 30 * time.Second // what a case may take
	grace    = 5 * time.Second  // for a case to notice that its time is over
	sweeping = 20 * time.Second // for what it made to be removed
)

// Options of Run.
type Options struct {
	Only *regexp.Regexp     // names of cases, "Of/Rule name"; nil: all
	Told func(Case, Result) // hears of each case when it is over; nil: nobody
}

// run is one run of the suite.
type run struct {
	subject Subject
	site    Site
	main    *Instance
}

// Run runs the cases that are about what the plugin has. The error is for a run that could not begin, or was broken off by ctx; no result is lost by it.
func Run(ctx context.Context, subject Subject, site Site, o Options) (*Report, error) {
	if site.Patience <= 0 {
		site.Patience = patience
	}
	r := &run{subject: subject, site: site}
	report := &Report{Plugin: subject.Name, Began: time.Now(), Results: []Result{}, Halves: []Half{}}
	defer func() { report.Took = time.Since(report.Began) }()
	first, cancel := context.WithTimeout(ctx, site.Patience)
	err := r.begin(first, report)
	cancel()
	defer func() { r.main.close() }()
	if err != nil {
		return report, err
	}
	for _, c := range Cases() {
		if !slices.Contains(report.Halves, c.Of) || o.Only != nil && !o.Only.MatchString(c.Title()) {
			continue
		}
		if ctx.Err() != nil {
			return report, fmt.Errorf("broken off: %w", context.Cause(ctx))
		}
		result := r.do(ctx, c)
		report.add(result)
		if o.Told != nil {
			o.Told(c, result)
		}
	}
	return report, nil
}

// Title is how a case is called in lists.
func (c Case) Title() string { return string(c.Of) + "/" + c.Rule + " " + c.Name }

// begin opens the plugin and looks whether the run may touch what it is to touch.
func (r *run) begin(ctx context.Context, report *Report) error {
	i, err := r.open(ctx)
	if err != nil {
		return err
	}
	r.main = i
	if i.Process != nil {
		report.Halves = append(report.Halves, OfProcess)
		if info, err := i.Process.Info(ctx); err == nil {
			report.Version = info.Version
		}
	}
	report.Halves = append(report.Halves, OfAll)
	for _, h := range []struct {
		half Half
		has  bool
	}{{OfNIC, i.NIC != nil}, {OfHooks, i.Hooks != nil}, {OfScheduler, i.Scheduler != nil}, {OfFabric, i.Fabric != nil}} {
		if h.has {
			report.Halves = append(report.Halves, h.half)
		}
	}
	if i.NIC == nil || len(r.site.VNIs) == 0 {
		return nil
	}
	for n, v := range r.site.VNIs {
		if v == 0 || v.IsDefault() || slices.Contains(r.site.VNIs[:n], v) {
			return core.Errorf(core.BadCall, "VNI %d: the suite cannot use it: 0, 1 and 10 are no job's, and each is named once", v)
		}
	}
	all, err := i.NIC.Services(ctx)
	if err != nil {
		return fmt.Errorf("the NICs' services cannot be read, so nothing shows that the VNIs are free: %w", err)
	}
	for _, s := range all {
		if r.ours(s) {
			return core.Errorf(core.BadCall, "VNI %s: service %s/%d names it, so it is somebody's", core.FormatVNIs(s.VNIs), s.Device, s.ID).
				WithRemedy("take VNIs that nobody uses; if that service was left by an earlier run, `cxi_service delete` removes it")
		}
	}
	return nil
}

// open makes an instance and configures it.
func (r *run) open(ctx context.Context) (*Instance, error) {
	i, err := r.subject.Open(ctx)
	if err != nil {
		return nil, err
	}
	values, err := r.values(ctx, i)
	if err == nil && i.Configure != nil {
		err = guarded("configure", func() error { return i.Configure(ctx, values) })
	}
	if err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

// values are the plugin's block.
func (r *run) values(ctx context.Context, i *Instance) (core.Values, error) {
	if i.Schema == nil {
		return core.Values{}, nil
	}
	schema, err := i.Schema(ctx)
	if err != nil && !errors.Is(core.AsError(err), core.Unsupported) {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if r.site.Block != nil {
		return r.site.Block(schema)
	}
	values := core.Values{}
	for _, f := range schema.Fields {
		if f.Default != nil {
			values[f.Name] = f.Default
		}
	}
	for name, v := range r.site.Values {
		values[name] = v
	}
	return values, nil
}

// do runs one case to its end and removes what it made.
func (r *run) do(ctx context.Context, c Case) Result {
	began := time.Now()
	result := Result{Case: c.Name, Rule: c.Rule, Of: c.Of, Outcome: Passed}
	caseCtx, cancel := context.WithTimeout(ctx, r.site.Patience)
	defer cancel()
	t := &T{Instance: r.main, Site: r.site, run: r, ctx: caseCtx}
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("it panicked: %v: %s", p, where(debug.Stack()))
			}
		}()
		c.Run(t)
	}()
	if !within(over, r.site.Patience+grace) {
		t.Errorf("the plugin did not return within %s, which is more than its deadline", r.site.Patience+grace)
	}
	r.sweep(ctx, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	switch {
	case len(t.wrong) > 0:
		result.Outcome, result.Why = Failed, t.wrong
	case t.skipped != "":
		result.Outcome, result.Why = Skipped, []string{t.skipped}
	}
	result.Took = time.Since(began)
	return result
}

// sweep undoes a case, whatever state it left the plugin in.
func (r *run) sweep(ctx context.Context, t *T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweeping)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		t.mu.Lock()
		ends := t.ends
		t.mu.Unlock()
		for _, end := range slices.Backward(ends) {
			if err := guarded("clean-up", func() error { end(ctx); return nil }); err != nil {
				t.Errorf("%v", err)
			}
		}
		if err := guarded("clean-up", func() error { return r.remove(ctx) }); err != nil {
			t.Errorf("%v", err)
		}
		r.revive(ctx, t)
	}()
	if !within(over, sweeping+grace) {
		t.Errorf("what the case made may be left: the plugin does not return from its removal")
	}
}

// revive starts the plugin anew where the case has killed its process.
func (r *run) revive(ctx context.Context, t *T) {
	if r.main.Process == nil {
		return
	}
	select {
	case <-r.main.Process.Done:
	default:
		return
	}
	t.Errorf("the plugin's process has ended, and it must not")
	i, err := r.open(ctx)
	if err != nil {
		t.Errorf("it does not start again: %v", err)
		return
	}
	r.main.close()
	r.main = i
}

func (i *Instance) close() {
	if i != nil && i.Close != nil {
		i.Close()
	}
}

// panicError is a panic as an error.
type panicError struct{ error }

// guarded makes an error of a panic.
func guarded(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{fmt.Errorf("%s: it panicked: %v", what, p)}
		}
	}()
	return f()
}

// where is the line of a stack that panicked.
func where(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") && i+3 < len(lines) {
			return strings.TrimSpace(lines[i+3])
		}
	}
	return ""
}

func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
