package host

import (
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// machinery writes go-plugin's own lines into the daemon's log, all of them at debug: the host itself says what matters.
// What plugins say never passes here.
func machinery(log *slog.Logger) hclog.Logger {
	out := slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer()
	return hclog.New(&hclog.LoggerOptions{Name: "go-plugin", Level: hclog.Debug, DisableTime: true, Output: out})
}
