package flux

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// event is one entry of an eventlog (RFC 18).
type event struct {
	Timestamp float64         `json:"timestamp"`
	Name      string          `json:"name"`
	Context   json.RawMessage `json:"context"`
}

// The events that matter here. `free` of a job whose prolog failed comes before its epilog is over (flux-core 0.88): neither it
// nor `clean` says anything of the nodes.
const (
	eventSubmit    = "submit"
	eventAlloc     = "alloc"
	eventException = "exception"
	eventFinish    = "finish"
	eventClean     = "clean"
)

// life is what of a job its events say.
type life struct {
	uid       uint32
	submitted int64
	started   int64
	state     core.JobState // 0 before it was submitted
	doomed    bool          // it has finished, or an exception ends it: it gets nothing new
}

// apply takes the next event. Those that are not known say nothing.
func (l *life) apply(e event) error {
	switch e.Name {
	case eventSubmit:
		var c struct {
			UserID *int64 `json:"userid"`
		}
		if err := json.Unmarshal(e.Context, &c); err != nil || c.UserID == nil || *c.UserID < 0 || *c.UserID > math.MaxUint32 {
			return fmt.Errorf("event submit: it names no user: %.80q", e.Context)
		}
		l.uid, l.submitted, l.state = uint32(*c.UserID), seconds(e.Timestamp), core.JobQueued //nolint:gosec // in range
	case eventAlloc:
		l.state, l.started = core.JobRunning, seconds(e.Timestamp)
	case eventException:
		var c struct {
			Severity *int `json:"severity"`
		}
		if err := json.Unmarshal(e.Context, &c); err != nil || c.Severity == nil {
			return fmt.Errorf("event exception: it has no severity: %.80q", e.Context)
		}
		l.doomed = l.doomed || *c.Severity == 0
	case eventFinish:
		l.doomed = true
	case eventClean:
		l.doomed, l.state = true, core.JobFinal
	}
	return nil
}

func (l life) run(scheduler string, id uint64) core.Run {
	return core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: scheduler, Job: formatID(id)}},
		Fingerprint: core.Fingerprint{UID: l.uid, Submitted: l.submitted},
	}
}

// seconds of a timestamp; 0 for one that is no time.
func seconds(t float64) int64 {
	if !(t > 0 && t < 1<<52) {
		return 0
	}
	return int64(t)
}

// readEventlog is what a whole eventlog says, a JSON object a line.
func readEventlog(text string) (life, error) {
	var l life
	for line := range strings.Lines(text) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return l, fmt.Errorf("eventlog: %w", err)
		}
		if err := l.apply(e); err != nil {
			return l, fmt.Errorf("eventlog: %w", err)
		}
	}
	if l.state == 0 {
		return l, fmt.Errorf("eventlog: nobody submitted the job")
	}
	return l, nil
}
