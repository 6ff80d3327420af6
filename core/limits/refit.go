package limits

import "github.com/weft-hpc/weft/core"

// Refit reduces limits that a NIC refused as too much (core.Exhausted), by the shortage that it named: a reservation goes
// down to what the NIC has, which may be 0; to half where the NIC has no less; to 0 where a pool is missing. A refusal
// that names nothing is taken as a missing pool while any is asked for (drivers before SHS 13.1 do not tell), first that
// of TLE, and otherwise halves all. Shortages of other NICs are ignored.
//
// Each Refit asks for strictly less than the one before, never more of anything, so they come to an end: after at most 17 of each resource. The error is
// core.NICShort when nothing is left to reduce, else as of Fit. Warnings tell got from previous; Compare tells it from what was wanted.
func Refit(previous core.Limits, short []core.Shortage, floor Floor, dev core.Device) (core.Limits, []Warning, error) {
	next, named := previous, false
	for _, s := range short {
		if s.Resource >= core.NumResources || s.Device != "" && s.Device != dev.Name {
			continue
		}
		named = true
		next[s.Resource] = reduce(next[s.Resource], s, &dev.Capacity[s.Resource])
	}
	if !named {
		next = guess(previous, &dev.Capacity)
	}
	for r := range core.NumResources {
		next[r].Reserved = min(next[r].Reserved, next[r].Max)
		if next[r].Reserved < dev.Capacity[r].Least { // Fit would raise it again
			next[r].Reserved = 0
		}
	}
	var got core.Limits
	for r := range core.NumResources {
		got[r] = fit(next[r], dev.Capacity[r])
	}
	if err := judge(previous, got, floor, dev); err != nil {
		return core.Limits{}, nil, err
	}
	if got == previous {
		return core.Limits{}, nil, core.Errorf(core.NICShort, "NIC %s: it refuses the service for want of resources, and there is nothing left to reduce", dev.Name).
			WithShort(short...)
	}
	return got, Compare(previous, got, dev), nil
}

// reduce one limit by what the NIC said was short, and correct what the NIC was thought to have.
func reduce(l core.Limit, s core.Shortage, has *core.Supply) core.Limit {
	switch {
	case s.Pool:
		has.Pooled, has.PoolsLeft = true, 0
		if l.Reserved == 0 { // then it is max that takes the pool, whatever the device says of itself
			l.Max = 0
		}
		l.Reserved = 0
	case s.Have < l.Reserved:
		has.Free = min(has.Free, s.Have)
		l.Reserved = s.Have
	default:
		l.Reserved /= 2
	}
	return l
}

// guess reduces limits that were refused without a word.
func guess(l core.Limits, has *core.Capacity) core.Limits {
	for _, r := range []core.Resource{core.TLE, core.LE} {
		if has[r].Pooled && (l[r].Reserved > 0 || has[r].PooledByMax && l[r].Max > 0) {
			l[r] = reduce(l[r], core.Shortage{Pool: true}, &has[r])
			return l
		}
	}
	for r := range core.NumResources {
		l[r].Reserved /= 2
	}
	return l
}
