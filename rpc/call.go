package rpc

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// then makes a call that answers nothing, if its request is right and somebody still waits.
func (d *decoder) then(ctx context.Context, call func() error) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	if err := call(); err != nil {
		return outward(err)
	}
	return nil
}

// answered makes a call, if its request is right and somebody still waits, and encodes its answer.
func answered[A, P any](ctx context.Context, d *decoder, call func(context.Context) (A, error), encode func(A) *P) (*P, error) {
	var answer A
	err := d.then(ctx, func() (err error) {
		answer, err = call(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return encode(answer), nil
}

// remote is who a client calls, for its errors.
type remote struct {
	who  string      // NIC driver, server
	away core.Reason // when it cannot be reached
	nic  bool        // a code without a reason is about a NIC
}

// local is for errors that come in with a call: whose they are is known by their reasons.
var local = remote{away: core.PluginAway}

// only the error of a call that answers nothing.
func (r remote) only(method string, err error) error {
	if err == nil {
		return nil
	}
	return r.inward(method, err)
}

// answer says what is wrong with a reply.
func (r remote) answer(method string, d *decoder) error {
	if d.err == nil {
		return nil
	}
	return core.Errorf(core.InternalFault, "%s: %s: its answer cannot be used: %w", r.who, method, d.err)
}

// decoded is the answer to a call, or the call's error.
func decoded[A any](r remote, method string, err error, answer func(*decoder) A) (A, error) {
	var none A
	if err != nil {
		return none, r.inward(method, err)
	}
	d := &decoder{}
	a := answer(d)
	if err := r.answer(method, d); err != nil {
		return none, err
	}
	return a, nil
}
