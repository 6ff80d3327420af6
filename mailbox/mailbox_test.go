package mailbox_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/mailbox"
)

// open is a Box, the orders that it delivers until it is closed, and why its session ended.
func open(t *testing.T) (box *mailbox.Box, delivered func() []uint64, why func() error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	box = mailbox.New("n1", cancel)
	return box, func() (got []uint64) {
		if err := box.Deliver(func(o core.Orders) error { got = append(got, o.Heard); return nil }); err != nil {
			t.Error(err)
		}
		return got
	}, func() error { return context.Cause(ctx) }
}

func TestBoxKeepsOrderAndItsBound(t *testing.T) {
	box, delivered, why := open(t)
	var want []uint64
	for i := range uint64(mailbox.Most) {
		box.Put(core.Orders{Heard: i})
		want = append(want, i)
	}
	if why() != nil {
		t.Errorf("%d orders ended the session: %v", mailbox.Most, why())
	}
	box.Put(core.Orders{Heard: mailbox.Most})
	if e := core.AsError(why()); e == nil || e.Reason != core.Overloaded {
		t.Errorf("%d orders: %v, want the session's end with %s", mailbox.Most+1, why(), core.Overloaded)
	}
	box.Close()
	box.Put(core.Orders{Heard: 1}) // the server may give an order after the session's end
	if got := delivered(); !slices.Equal(got, want) {
		t.Errorf("delivered %d, want %d", got, want)
	}
}

func TestDeliverEndsWithItsError(t *testing.T) {
	box, _, _ := open(t)
	box.Put(core.Orders{Heard: 1})
	box.Put(core.Orders{Heard: 2})
	broken, calls := errors.New("the connection broke"), 0
	if err := box.Deliver(func(core.Orders) error { calls++; return broken }); err != broken || calls != 1 {
		t.Errorf("%d calls and %v, want one and %v", calls, err, broken)
	}
}

// server attends as its function does.
type server struct {
	core.Authority
	attend func(ctx context.Context, told func(core.Orders)) error
}

func (s server) Attend(
	ctx context.Context, _ string, _ core.Report, _ <-chan core.Report, told func(core.Orders),
) error {
	return s.attend(ctx, told)
}

func TestAuthorityEndsTheSessionOfASlowNode(t *testing.T) {
	stuck := make(chan struct{})
	s := server{attend: func(ctx context.Context, told func(core.Orders)) error {
		defer close(stuck)
		for ctx.Err() == nil { // told never waits for the node
			told(core.Orders{})
		}
		return context.Cause(ctx)
	}}
	slow := func(core.Orders) { <-stuck }
	err := mailbox.Authority{Authority: s}.Attend(t.Context(), "n1", core.Report{}, nil, slow)
	if e := core.AsError(err); e == nil || e.Reason != core.Overloaded {
		t.Errorf("the session ended with %v, want %s", err, core.Overloaded)
	}
}

func TestAuthorityPassesTheLastOrdersOn(t *testing.T) {
	var late func(core.Orders)
	s := server{attend: func(_ context.Context, told func(core.Orders)) error {
		for i := range uint64(3) {
			told(core.Orders{Heard: i})
		}
		late = told
		return nil
	}}
	var got []uint64
	told := func(o core.Orders) { got = append(got, o.Heard) }
	if err := (mailbox.Authority{Authority: s}).Attend(t.Context(), "n1", core.Report{}, nil, told); err != nil {
		t.Error(err)
	}
	late(core.Orders{Heard: 9}) // as the server may
	if want := []uint64{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("told %d, want %d", got, want)
	}
}
