package main

import (
	"context"
	"errors"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/sdk"
)

// evil has an escape of terminals, and characters that hide or turn what follows.
const evil = "\x1b[2J\u009b\u202eevil\u2066\u200b\U000e0041"

// hostile is a NIC driver whose texts a terminal must not obey.
type hostile struct{ *sim.Driver }

func (hostile) Create(context.Context, []core.ServiceSpec) ([]core.Created, error) {
	return nil, core.Errorf(core.NICFailed, "create: %s", evil)
}

func (hostile) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{{Name: "nics", Kind: core.KindInt, Default: int64(4)}}}
}

func (h hostile) Configure(_ context.Context, v core.Values) error {
	if v["nics"] == int64(5) {
		return &core.PathError{Path: []string{"nics"}, Err: errors.New(evil)}
	}
	return nil
}

func hostilePlugin() {
	sdk.Serve(hostile{sim.New(sim.Options{})}, sdk.WithName("hostile"))
}
