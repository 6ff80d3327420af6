package core

import "context"

// NICReading is one look at the NICs of a node, at three moments in this order. A NIC that was away while the services
// were read looks clean of all of them, so only a NIC that is in both lists of devices proves anything.
type NICReading struct {
	Before   []Device
	Services []Service
	After    []Device
}

// NICReader is an optional interface of a NICDriver. Weft uses it so that a reading is one call of a plugin.
type NICReader interface {
	ReadNICs(ctx context.Context) (NICReading, error)
}

// ReadNICs reads by one call where the driver has it, and otherwise by three.
func ReadNICs(ctx context.Context, d NICDriver) (r NICReading, err error) {
	if whole, ok := d.(NICReader); ok {
		return whole.ReadNICs(ctx)
	}
	if r.Before, err = d.Devices(ctx); err != nil {
		return NICReading{}, err
	}
	if r.Services, err = d.Services(ctx); err != nil {
		return NICReading{}, err
	}
	if r.After, err = d.Devices(ctx); err != nil {
		return NICReading{}, err
	}
	return r, nil
}
