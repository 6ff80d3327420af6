package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
)

// T is what a case has: the plugin, the site, and how it says what it found. It is safe for concurrent use; Fatalf and Skipf end the goroutine that calls
// them, which must be the case's own.
type T struct {
	*Instance // configured
	Site      Site
	run       *run

	ctx context.Context

	mu      sync.Mutex
	over    bool
	wrong   []string
	skipped string
	ends    []func(context.Context)
}

// Errorf says what is wrong; the case goes on.
func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over && len(t.wrong) < maxWrong {
		t.wrong = append(t.wrong, oneLine(fmt.Sprintf(format, args...)))
	}
}

// maxWrong bounds what one case says.
const maxWrong = 10

// Fatalf says what is wrong and ends the case.
func (t *T) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

// must ends the case if err is not nil; the text says what failed.
func (t *T) must(err error, format string, args ...any) {
	if err != nil {
		t.Fatalf(format+": %v", append(args, err)...)
	}
}

// should says that err is not nil; the case goes on.
func (t *T) should(err error, format string, args ...any) {
	if err != nil {
		t.Errorf(format+": %v", append(args, err)...)
	}
}

// Skipf ends the case, which does not count, and says why. What was wrong already stays wrong.
func (t *T) Skipf(format string, args ...any) {
	t.mu.Lock()
	if !t.over {
		t.skipped = oneLine(fmt.Sprintf(format, args...))
	}
	t.mu.Unlock()
	runtime.Goexit()
}

// Cleanup runs f when the case is over, however it ended; the last first.
func (t *T) Cleanup(f func(context.Context)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends = append(t.ends, f)
}

// beside runs f in a goroutine of all. A plugin that panics there fails the case, and does not end the process.
func (t *T) beside(all *sync.WaitGroup, f func()) {
	all.Go(func() {
		if err := guarded("a call among others", func() error { f(); return nil }); err != nil {
			t.Errorf("%v", err)
		}
	})
}

// Another opens one more instance and configures it; it is ended with the case.
func (t *T) Another() *Instance {
	i, err := t.run.open(t.ctx)
	t.must(err, "another instance beside the first")
	t.Cleanup(func(context.Context) { i.close() })
	return i
}

// unsupported ends the case as skipped where the plugin says that it cannot do what was asked.
func (t *T) unsupported(what string, err error) {
	if err != nil && errors.Is(core.AsError(err), core.Unsupported) {
		t.Skipf("%s: the plugin says that it cannot: %v", what, err)
	}
}

// here ends the case as skipped where what the plugin speaks to is not there.
func (t *T) here(what string, err error) {
	t.unsupported(what, err)
	if err != nil && (errors.Is(core.AsError(err), core.Unavailable) || errors.Is(core.AsError(err), core.Timeout)) {
		t.Skipf("%s: what the plugin speaks to does not answer here: %v", what, err)
	}
}

// code checks that err is of one of the codes, in the form that errors have.
func (t *T) code(what string, err error, want ...core.Code) {
	if err == nil {
		t.Errorf("%s: no error, want %s", what, codes(want))
		return
	}
	if e := core.AsError(err); !slices.Contains(want, e.Code) {
		t.Errorf("%s: got %s (%v), want %s", what, e.Code, err, codes(want))
		return
	}
	t.form(what, err)
}

// form checks that an error is one that an administrator can use.
func (t *T) form(what string, err error) {
	e := core.AsError(err)
	switch {
	case e.Reason == core.InternalFault:
		t.Errorf("%s: %v: it has no reason of errors.md: a driver's errors are core.Error", what, err)
	case !strings.Contains(e.What, ": ") && e.Code != core.Timeout: // what came too late may be refused before the plugin sees it
		t.Errorf("%s: %q: it does not read what: which: why", what, e.What)
	case strings.ContainsAny(e.What, "\n\r"):
		t.Errorf("%s: %q: it is more than one line", what, e.What)
	}
	for _, a := range core.Reasons() {
		if a.Reason == e.Reason && a.Code != e.Code {
			t.Errorf("%s: %v: its reason %s has code %s, and it says %s", what, err, e.Reason, a.Code, e.Code)
		}
	}
}

func codes(want []core.Code) string {
	names := make([]string, len(want))
	for i, c := range want {
		names[i] = c.String()
	}
	return strings.Join(names, " or ")
}

// oneLine makes what a plugin said printable, and short enough for a list.
func oneLine(s string) string {
	const most = 600
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "?"), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
