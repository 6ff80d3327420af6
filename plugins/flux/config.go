package flux

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/block"
	"github.com/weft-hpc/weft/plugins/flux/broker"
)

// The fields of a block `scheduler "flux" "NAME"` that a remedy names.
const (
	fieldURI    = "uri"
	fieldUser   = "user"
	fieldProlog = "prolog_timeout"
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

func (s *settings) fields() block.Fields {
	return block.Fields{
		block.Text(fieldURI, &s.uri, "Socket of a broker of the instance, as a local URI.", func(uri string) error {
			_, err := broker.Path(uri)
			return err
		}),
		block.Text(fieldUser, &s.user, "Name of the instance's owner, as whom root connects; "+
			"empty: as itself, which needs allow-root-owner in Flux's [access].",
			func(name string) error { return core.CheckName("user", name, maxUser) }),
		block.Duration("every", &s.every, 5*time.Minute,
			"How often the complete list of jobs is told, 1s to 5m; changes are told at once."),
		block.Duration(fieldProlog, &s.prolog, time.Hour, "How long one try of the prolog may wait for Weft, 1s to 1h. "+
			"Together with what `weft init flux --wait` says it must stay below job-manager.prolog's timeout, 30m by default."),
		block.Duration("call_timeout", &s.patient, time.Minute, "How long a broker may take to answer, 1s to 1m."),
	}
}

// Schema of a block.
func (p *Plugin) Schema() core.Schema {
	s := defaults()
	return s.fields().Schema()
}

// Configure puts a block in force. It is called before anything else is.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	s := defaults()
	if err := s.fields().Read(values); err != nil {
		return err
	}
	p.settings = s
	p.link.close()
	return nil
}

// maxUser bounds the name of a user, in bytes (useradd(8)).
const maxUser = 32
