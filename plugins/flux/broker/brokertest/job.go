package brokertest

import (
	"encoding/json"
	"fmt"

	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// instance is what the job manager and the resource module know.
type instance struct {
	jobs    map[uint64]*job
	clock   float64
	hosts   []string // by rank; empty: the instance's R lacks it
	drained map[int]string
	offline string // ranks
	exclude string // ranks
	jobtap  []string
	attrs   map[string]string
}

type job struct {
	id       uint64
	uid      uint32
	duration float64 // seconds; 0: no limit
	jobspec  object
	r        any
	events   []json.RawMessage
	inactive bool
}

// First is the time at which the fake's clock begins, in Unix seconds; each event is a quarter of a second later than the one before.
const First = 1795817734

func (i *instance) init() {
	i.jobs, i.clock, i.drained, i.attrs = map[uint64]*job{}, First, map[int]string{}, map[string]string{}
	i.hosts = []string{"node01", "node02"}
	i.jobtap = []string{".history", "perilog.so"}
}

// Hosts are the names of the instance's nodes, by rank; the instance's R lacks the rank of an empty one.
func (b *Broker) Hosts(hosts ...string) { b.locked(func() { b.instance.hosts = hosts }) }

// Attr sets a broker's attribute.
func (b *Broker) Attr(name, value string) { b.locked(func() { b.instance.attrs[name] = value }) }

// Submit makes a job that waits for resources. attributes are attributes.system of its jobspec.
func (b *Broker) Submit(id uint64, uid uint32, attributes map[string]any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := &job{id: id, uid: uid, jobspec: object{"version": 1, "attributes": object{"system": attributes}}}
	j.duration, _ = attributes["duration"].(float64)
	b.instance.jobs[id] = j
	b.post(j, "submit", object{"userid": uid, "urgency": 16, "flags": 0, "version": 1})
	for _, name := range []string{"validate", "depend", "priority"} {
		b.post(j, name, nil)
	}
}

// Alloc gives a job its resources: R_lite's entries and the nodes in the order of their ranks.
func (b *Broker) Alloc(id uint64, lite any, nodes ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	j := b.instance.jobs[id]
	expiration := 0.0
	if j.duration > 0 {
		expiration = b.instance.clock + j.duration
	}
	j.r = object{"version": 1, "execution": object{
		"R_lite": lite, "starttime": b.instance.clock, "expiration": expiration, "nodelist": nodes,
	}}
	b.post(j, "alloc", object{"annotations": object{}})
}

// Lite is one entry of R_lite.
func Lite(ranks, cores string) map[string]any {
	return object{"rank": ranks, "children": object{"core": cores}}
}

// Post posts an event to a job's eventlog.
func (b *Broker) Post(id uint64, name string, context any) {
	b.locked(func() { b.post(b.instance.jobs[id], name, context) })
}

// End posts what a job without prolog and epilog has at its end.
func (b *Broker) End(id uint64) {
	for _, name := range []string{"finish", "release", "free", "clean"} {
		b.Post(id, name, nil)
	}
}

// Purge forgets an inactive job.
func (b *Broker) Purge(id uint64) { b.locked(func() { delete(b.instance.jobs, id) }) }

// Drained is the reason for which a rank is drained.
func (b *Broker) Drained(rank int) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reason, ok := b.instance.drained[rank]
	return reason, ok
}

// Drain drains a rank as an administrator, or Flux itself, does.
func (b *Broker) Drain(rank int, reason string) {
	b.locked(func() { b.instance.drained[rank] = reason })
}

// Undrain brings a rank back as an administrator does.
func (b *Broker) Undrain(rank int) { b.locked(func() { delete(b.instance.drained, rank) }) }

// Exclude says which ranks run no jobs.
func (b *Broker) Exclude(ranks string) { b.locked(func() { b.instance.exclude = ranks }) }

// Jobtap says which plugins the job manager has loaded.
func (b *Broker) Jobtap(names ...string) { b.locked(func() { b.instance.jobtap = names }) }

// Offline says which ranks have no broker.
func (b *Broker) Offline(ranks string) { b.locked(func() { b.instance.offline = ranks }) }

// Events are the names and contexts of a job's eventlog.
func (b *Broker) Events(id uint64) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	if j := b.instance.jobs[id]; j != nil {
		for _, e := range j.events {
			all = append(all, string(e))
		}
	}
	return all
}

// post appends an event and tells it to every follower; b.mu is held.
func (b *Broker) post(j *job, name string, context any) {
	i := &b.instance
	i.clock += 0.25
	entry := object{"timestamp": i.clock, "name": name}
	if context != nil {
		entry["context"] = context
	}
	text, err := json.Marshal(entry)
	if err != nil {
		panic(fmt.Sprintf("event %s: %v", name, err))
	}
	j.events = append(j.events, text)
	j.inactive = j.inactive || name == "clean"
	answer := object{"id": j.id, "events": []json.RawMessage{text}}
	switch name {
	case "submit":
		answer["jobspec"] = j.jobspec
	case "alloc":
		answer["R"] = j.r
	}
	for c := range b.clients {
		for tag, topic := range c.streams {
			c.respond(topic, tag, broker.FlagStreaming, 0, answer)
		}
	}
}
