package engine

import (
	"fmt"

	"github.com/weft-hpc/weft/core"
)

// tally names what a quota counts together.
type tally struct {
	name, subject string
	unit          Unit
}

// amount is what a reservation of d with so many VNIs counts in unit.
func amount(u Unit, d *Decision, vnis int) int {
	if u == UnitAddresses {
		return d.Collectives
	}
	return vnis
}

// count adds a reservation to its quotas' tallies, or takes it out.
func (m *Machine) count(r *reservation, sign int) {
	for _, q := range r.Grant.Quotas {
		k := tally{q.Name, q.Subject, q.Unit}
		m.quotas[k] += sign * amount(q.Unit, &r.Grant, len(r.VNIs))
		if m.quotas[k] == 0 {
			delete(m.quotas, k)
		}
	}
}

// admitQuotas says whether d fits beside what its subjects hold already; a quota that only warns gives a warning.
func (m *Machine) admitQuotas(d Decision, vnis int) ([]string, *core.Error) {
	var warnings []string
	for _, q := range d.Quotas {
		has, wants := m.quotas[tally{q.Name, q.Subject, q.Unit}], amount(q.Unit, &d, vnis)
		if has+wants <= q.Most {
			continue
		}
		unit := "VNIs"
		if q.Unit == UnitAddresses {
			unit = "multicast addresses"
		}
		text := fmt.Sprintf("quota %q: %s has %d of %d %s and this job wants %d", q.Name, q.Subject, has, q.Most, unit, wants)
		switch q.Enforce {
		case EnforceWarn:
			warnings = append(warnings, text)
		case EnforceDryRun:
			m.do(Say{Level: Warn, Text: "dry run: " + text})
		default:
			return nil, core.Errorf(core.OverQuota, "%s", text)
		}
	}
	return warnings, nil
}
