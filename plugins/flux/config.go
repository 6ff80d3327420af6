package flux

import (
	"cmp"
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// The fields of a block `scheduler "flux" "NAME"`.
const (
	fieldURI     = "uri"
	fieldUser    = "user"
	fieldEvery   = "every"
	fieldProlog  = "prolog_timeout"
	fieldPatient = "call_timeout"
)

// settings are a block's values.
type settings struct {
	uri     string
	user    string
	every   time.Duration
	prolog  time.Duration
	patient time.Duration
}

func defaults() settings {
	return settings{uri: broker.SystemURI, every: 10 * time.Second, prolog: 5 * time.Minute, patient: 10 * time.Second}
}

// Schema of a block `scheduler "flux" "NAME"`.
func (p *Plugin) Schema() core.Schema {
	d := defaults()
	return core.Schema{Fields: []core.Field{
		{Name: fieldURI, Kind: core.KindString, Default: d.uri, Doc: "Socket of a broker of the instance, as a local URI."},
		{Name: fieldUser, Kind: core.KindString, Default: d.user, Doc: "Name of the instance's owner, as whom root connects; empty: as itself, which needs allow-root-owner in Flux's [access]."},
		{Name: fieldEvery, Kind: core.KindDuration, Default: d.every, Doc: "How often the complete list of jobs is told, 1s to 5m; changes are told at once."},
		{Name: fieldProlog, Kind: core.KindDuration, Default: d.prolog, Doc: "How long one try of the prolog may wait for Weft, 1s to 1h. " +
			"Together with what `weft init flux --wait` says it must stay below job-manager.prolog's timeout, 30m by default."},
		{Name: fieldPatient, Kind: core.KindDuration, Default: d.patient, Doc: "How long a broker may take to answer, 1s to 1m."},
	}}
}

// Configure puts a block in force. It is called before anything else is.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	s := defaults()
	if v, given := values[fieldURI].(string); given {
		if _, err := broker.Path(v); err != nil {
			return scheduler.Bad(fieldURI, "%w", err)
		}
		s.uri = v
	}
	if v, given := values[fieldUser].(string); given && v != "" {
		if err := core.CheckName("user", v, maxUser); err != nil {
			return scheduler.Bad(fieldUser, "%w", err)
		}
		s.user = v
	}
	if err := cmp.Or(
		scheduler.Duration(values, fieldEvery, &s.every, 5*time.Minute),
		scheduler.Duration(values, fieldProlog, &s.prolog, time.Hour),
		scheduler.Duration(values, fieldPatient, &s.patient, time.Minute),
	); err != nil {
		return err
	}
	p.settings = s
	p.link.close()
	return nil
}

// maxUser bounds the name of a user, in bytes (useradd(8)).
const maxUser = 32
