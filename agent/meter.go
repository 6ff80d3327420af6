package agent

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Meter counts what the agent does. Many goroutines call it, the writer among them: it must return at once. An empty Reason says that it went well.
type Meter interface {
	Hooked(scheduler, phase string, reason core.Reason, took time.Duration) // a hook was answered; phase is empty where its adapter does not know it
	Driven(verb string, reason core.Reason, took time.Duration)             // the NIC driver answered: devices, services, create, destroy
	Degraded(scheduler string, reason core.Reason)                          // a job runs here without isolation, since policy has on_failure = "degrade"
	Short(scheduler string)                                                 // a job started here with less of a NIC than it was granted
	Linked(up bool)                                                         // a session with the server began or ended
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Hooked(string, string, core.Reason, time.Duration) {}
func (unmetered) Driven(string, core.Reason, time.Duration)         {}
func (unmetered) Degraded(string, core.Reason)                      {}
func (unmetered) Short(string)                                      {}
func (unmetered) Linked(bool)                                       {}

// NICs are the node's devices as they were read last; nil before the first reading.
func (a *Agent) NICs() []core.Device {
	if d := a.devices.Load(); d != nil {
		return *d
	}
	return nil
}

// drove is one call to the NIC driver that is over.
type drove struct {
	verb   string
	run    core.Run
	origin string // the id of the hook's call that it was for
	began  time.Time
	nics   []string
	ids    []string // of services, beside nics
	vnis   []core.VNI
}

// told counts a call to the driver and leaves a line for whoever looks for a hook's call.
func (a *Agent) told(d drove, err error) {
	took := time.Since(d.began)
	a.meter.Driven(d.verb, core.ReasonOf(err), took)
	ctx := context.Background()
	if !a.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := make([]any, 0, 20)
	attrs = append(attrs, core.LogVerb, d.verb)
	if d.origin != "" {
		attrs = append(attrs, core.LogCall, d.origin)
	}
	if d.run.Job != "" {
		attrs = append(attrs, core.LogJob, d.run.Key.String())
	}
	if len(d.vnis) > 0 {
		attrs = append(attrs, core.LogVNI, core.VNIRanges(d.vnis))
	}
	if len(d.nics) > 0 {
		attrs = append(attrs, core.LogNIC, strings.Join(d.nics, ","), core.LogService, strings.Join(d.ids, ","))
	}
	attrs = append(attrs, core.LogTook, took)
	if err != nil {
		attrs = append(attrs, core.LogReason, string(core.ReasonOf(err)), core.LogError, err)
	}
	a.log.DebugContext(ctx, "NIC driver", attrs...)
}
