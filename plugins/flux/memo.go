package flux

import (
	"context"
	"encoding/json"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// waits begins the memo of a job that waits in its prolog.
const waits = "waits: "

// Requeue implements core.Requeuer. A job of Flux that Weft cannot serve yet waits in its prolog, whose scriptlet tries
// again, so it needs no way back into the queue. A memo tells its user why it waits:
// `flux jobs -o '{id.f58} {user.weft}'`. Annotate takes the memo away.
func (p *Plugin) Requeue(ctx context.Context, key core.Key, reason string) error {
	id, err := parseID(key.Job)
	if err != nil {
		return err
	}
	text := waits + core.OneLine(reason, "Weft cannot serve it yet")
	seen, err := p.seen(ctx, id)
	if err == nil && seen.memo != text {
		err = p.memo(ctx, id, text)
	}
	if isFault(err, syscall.ENOENT) { // it is over
		return nil
	}
	return p.away("job "+key.JobID.String()+": memo", err)
}

// memo has text in the job's record, under the name of the event that has its grant. Nil takes it away.
func (p *Plugin) memo(ctx context.Context, id uint64, text any) error {
	return p.link.call(ctx, "job-manager.memo", broker.AnyNode, object{"id": id, "memo": object{Exception: text}}, nil)
}

// seen has the entries of a job's eventlog that are Weft's.
type seen struct {
	grants []annotation
	memo   string // the last one; empty: none, or it was taken away
}

func (p *Plugin) seen(ctx context.Context, id uint64) (seen, error) {
	var f facts
	eventlog := object{"id": id, "keys": []string{"eventlog"}, "flags": 0}
	if err := p.link.call(ctx, "job-info.lookup", broker.AnyNode, eventlog, &f); err != nil {
		return seen{}, err
	}
	var s seen
	for line := range strings.Lines(f.Eventlog) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		var a annotation
		var memo map[string]any
		switch e.Name {
		case Exception:
			if json.Unmarshal(e.Context, &a) == nil {
				s.grants = append(s.grants, a)
			}
		case "memo":
			if json.Unmarshal(e.Context, &memo) == nil {
				if text, ours := memo[Exception]; ours {
					s.memo, _ = text.(string)
				}
			}
		}
	}
	return s, nil
}
