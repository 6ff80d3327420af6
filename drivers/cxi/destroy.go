package cxi

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
)

// Destroy removes services; see core.NICDriver. On a NIC that is not there nothing is known to be gone.
func (d *Driver) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	return each(ctx, d, "cannot remove service", services, func(s *core.Service) string { return s.Device },
		func(n *nic) func(*core.Service) error { return n.remove }, func(err *core.Error) error { return err })
}

// remove destroys a service that is still the one that s names: an id is used again at once.
func (n *nic) remove(s *core.Service) error {
	have, there, err := n.look(s.ID)
	switch {
	case err != ok:
		return failure(s.Device, "cannot read service", s.ID, err)
	case !there:
		return nil
	}
	now := view(s.Device, &have, n.extras(&have), use{})
	if n.over() {
		return failure(s.Device, "cannot read service", s.ID, ecanceled)
	}
	if err := refusal.Removal(*s, now); err != nil {
		return err
	}
	err = n.destroy(s.ID, false)
	if err == einval { // unknown: somebody else was faster
		if _, there, now := n.look(s.ID); now == ok && !there {
			return nil
		}
	}
	if err != ok {
		return failure(s.Device, "cannot remove service", s.ID, err)
	}
	return nil
}

// look reads a service. EINVAL is an unknown one, or a call that is refused: the driver's list tells which.
func (n *nic) look(id uint32) (have desc, there bool, err errno) {
	if have, err = n.get(id); err != einval {
		return have, err == ok, err
	}
	list, err := n.list()
	for i := range list {
		if list[i].id == id {
			return list[i], true, err
		}
	}
	return desc{}, false, err
}
