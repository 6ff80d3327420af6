package brokertest

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// no is an answer that is an error.
type no struct {
	errno syscall.Errno
	text  string
}

// streaming is the answer of a service that has answered, or will, by itself.
var streaming any = &struct{ int }{}

// service is one that the fake has.
type service struct {
	owner bool
	serve func(c *client, m *broker.Message, in []byte) (any, *no)
}

// of makes a service's function of one that takes the request as a struct.
func of[T any](serve func(*client, *broker.Message, T) (any, *no)) func(*client, *broker.Message, []byte) (any, *no) {
	return func(c *client, m *broker.Message, in []byte) (any, *no) {
		var request T
		if err := json.Unmarshal(in, &request); err != nil {
			return nil, &no{syscall.EPROTO, ""}
		}
		return serve(c, m, request)
	}
}

type object = map[string]any

var services = map[string]service{
	"job-manager.events-journal":        {true, (*client).journal},
	"job-manager.events-journal-cancel": {true, of((*client).journalCancel)},
	"job-manager.stats-get": {false, func(*client, *broker.Message, []byte) (any, *no) {
		return object{"housekeeping": object{"running": object{}}}, nil
	}},
	"job-manager.raise":           {false, of((*client).raise)},
	"job-manager.memo":            {false, of((*client).memo)},
	"job-manager.post-event.post": {true, of((*client).post)},
	"job-info.lookup":             {false, of((*client).lookup)},
	"resource.drain":              {true, of((*client).drain)},
	"resource.undrain":            {true, of((*client).undrain)},
	"resource.status":             {false, (*client).status},
	"attr.get":                    {false, of((*client).attr)},
	"job-manager.jobtap":          {true, of((*client).jobtap)},
	"config.get":                  {false, func(c *client, _ *broker.Message, _ []byte) (any, *no) { return c.b.config, nil }},
}

func (c *client) journal(m *broker.Message, _ []byte) (any, *no) {
	if m.Flags&broker.FlagStreaming == 0 {
		return nil, &no{syscall.EPROTO, "job-manager.events requires streaming RPC flag"}
	}
	for _, j := range c.b.instance.jobs { // in no order, as a hash has
		if j.inactive {
			continue
		}
		answer := object{"id": j.id, "events": j.events, "jobspec": j.jobspec}
		if j.r != nil {
			answer["R"] = j.r
		}
		c.respond(m.Topic, m.Tag(), broker.FlagStreaming, 0, answer)
	}
	c.respond(m.Topic, m.Tag(), broker.FlagStreaming, 0, object{"id": -1, "events": []any{}})
	c.streams[m.Tag()] = m.Topic
	return streaming, nil
}

func (c *client) journalCancel(_ *broker.Message, req struct {
	Tag uint32 `json:"matchtag"`
}) (any, *no) {
	if topic, ok := c.streams[req.Tag]; ok {
		delete(c.streams, req.Tag)
		c.respond(topic, req.Tag, broker.FlagStreaming, syscall.ENODATA, nil)
	}
	return streaming, nil
}

func (c *client) raise(_ *broker.Message, e struct {
	ID       uint64 `json:"id"`
	Type     string `json:"type"`
	Severity int    `json:"severity"`
	Note     string `json:"note"`
}) (any, *no) {
	if e.Type == "" || strings.ContainsAny(e.Type, " =") || e.Severity < 0 || e.Severity > 7 {
		return nil, &no{syscall.EPROTO, ""}
	}
	j := c.b.instance.jobs[e.ID]
	if j == nil || j.inactive {
		return nil, &no{syscall.ENOENT, "job is inactive or unknown"}
	}
	if c.roles&broker.RoleOwner == 0 && c.uid != j.uid {
		return nil, &no{syscall.EPERM, ""}
	}
	c.b.post(j, "exception", object{"type": e.Type, "severity": e.Severity, "note": e.Note, "userid": c.uid})
	return nil, nil
}

func (c *client) memo(_ *broker.Message, m struct {
	ID   uint64         `json:"id"`
	Memo map[string]any `json:"memo"`
}) (any, *no) {
	j := c.b.instance.jobs[m.ID]
	if j == nil || j.inactive {
		return nil, &no{syscall.ENOENT, "job is inactive"}
	}
	if c.roles&broker.RoleOwner == 0 && c.uid != j.uid {
		return nil, &no{syscall.EPERM, "guests can only add a memo to their own jobs"}
	}
	c.b.post(j, "memo", m.Memo)
	return nil, nil
}

func (c *client) post(_ *broker.Message, e struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Context any    `json:"context"`
}) (any, *no) {
	j := c.b.instance.jobs[e.ID]
	if j == nil || j.inactive {
		return nil, &no{syscall.ENOENT, ""}
	}
	c.b.post(j, e.Name, e.Context)
	return nil, nil
}

func (c *client) lookup(_ *broker.Message, req struct {
	ID   uint64   `json:"id"`
	Keys []string `json:"keys"`
}) (any, *no) {
	j := c.b.instance.jobs[req.ID]
	if j == nil {
		return nil, &no{syscall.ENOENT, ""}
	}
	if c.roles&broker.RoleOwner == 0 && c.uid != j.uid {
		return nil, &no{syscall.EPERM, ""}
	}
	answer := object{"id": j.id}
	for _, key := range req.Keys {
		var v any
		switch key {
		case "R":
			if v = j.r; j.r == nil {
				return nil, &no{syscall.ENOENT, ""}
			}
		case "jobspec":
			v = j.jobspec
		case "eventlog":
			var b strings.Builder
			for _, e := range j.events {
				b.Write(e)
				b.WriteByte('\n')
			}
			answer[key] = b.String()
			continue
		default:
			return nil, &no{syscall.ENOENT, ""}
		}
		answer[key] = v
	}
	return answer, nil
}

func (c *client) drain(m *broker.Message, req struct {
	Targets string `json:"targets"`
	Reason  string `json:"reason"`
	Mode    string `json:"mode"`
}) (any, *no) {
	rank, bad := c.target(m, req.Targets)
	if bad != nil {
		return nil, bad
	}
	i := &c.b.instance
	// A node that is drained without a reason is no error (check_draininfo_idset in drain.c, 0.88.0).
	switch {
	case req.Mode == "overwrite", i.drained[rank] == "":
		i.drained[rank] = req.Reason
	default:
		return nil, &no{syscall.EEXIST, "already drained"}
	}
	return nil, nil
}

func (c *client) undrain(m *broker.Message, req struct {
	Targets string `json:"targets"`
}) (any, *no) {
	rank, bad := c.target(m, req.Targets)
	if bad != nil {
		return nil, bad
	}
	if _, was := c.b.instance.drained[rank]; !was {
		return nil, &no{syscall.EINVAL, "rank " + strconv.Itoa(rank) + " not drained"}
	}
	delete(c.b.instance.drained, rank)
	return nil, nil
}

// target is the rank that is to be drained or undrained.
func (c *client) target(m *broker.Message, targets string) (int, *no) {
	if m.First != 0 {
		return 0, &no{syscall.ENOSYS, ""}
	}
	for r, host := range c.b.instance.hosts {
		if host == targets || strconv.Itoa(r) == targets {
			return r, nil
		}
	}
	return 0, &no{syscall.EINVAL, "invalid targets"}
}

func (c *client) status(*broker.Message, []byte) (any, *no) {
	i := &c.b.instance
	drained := object{}
	for rank, reason := range i.drained {
		drained[strconv.Itoa(rank)] = object{"timestamp": 1.5, "reason": reason}
	}
	var lite []any
	var nodes []string
	for rank, host := range i.hosts {
		if host != "" {
			lite, nodes = append(lite, Lite(strconv.Itoa(rank), "0-3")), append(nodes, host)
		}
	}
	return object{
		"R":     object{"version": 1, "execution": object{"R_lite": lite, "nodelist": nodes}},
		"drain": drained, "online": "0-" + strconv.Itoa(len(i.hosts)-1), "offline": i.offline, "exclude": i.exclude, "torpid": "",
	}, nil
}

func (c *client) jobtap(_ *broker.Message, req struct {
	Only bool `json:"query_only"`
}) (any, *no) {
	if !req.Only {
		return nil, &no{syscall.EPROTO, ""}
	}
	return object{"plugins": c.b.instance.jobtap}, nil
}

func (c *client) attr(_ *broker.Message, req struct {
	Name string `json:"name"`
}) (any, *no) {
	all := map[string]string{
		"rank": "0", "instance-level": "0", "jobid-path": "/", "local-uri": c.b.URI(),
		"security.owner": strconv.FormatUint(uint64(c.b.owner), 10),
	}
	maps.Copy(all, c.b.instance.attrs)
	if v, ok := all[req.Name]; ok {
		return object{"value": v, "flags": 0}, nil
	}
	return nil, &no{syscall.ENOENT, ""}
}
