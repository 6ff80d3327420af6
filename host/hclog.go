package host

import (
	"context"
	"io"
	"log" //nolint:depguard // hclog.Logger has a method that returns one
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// machinery writes go-plugin's own lines into the daemon's log: all of it at debug, since the host says what matters itself. What plugins say never passes here.
type machinery struct {
	log     *slog.Logger
	name    string
	implied []any
}

var _ hclog.Logger = machinery{}

func (m machinery) Log(_ hclog.Level, msg string, args ...any) {
	if m.log.Enabled(context.Background(), slog.LevelDebug) {
		m.log.Debug("go-plugin: "+clipped(msg), append(m.implied[:len(m.implied):len(m.implied)], args...)...)
	}
}

func (m machinery) Trace(msg string, args ...any) { m.Log(hclog.Trace, msg, args...) }
func (m machinery) Debug(msg string, args ...any) { m.Log(hclog.Debug, msg, args...) }
func (m machinery) Info(msg string, args ...any)  { m.Log(hclog.Info, msg, args...) }
func (m machinery) Warn(msg string, args ...any)  { m.Log(hclog.Warn, msg, args...) }
func (m machinery) Error(msg string, args ...any) { m.Log(hclog.Error, msg, args...) }

func (m machinery) IsTrace() bool { return false }
func (m machinery) IsDebug() bool { return m.log.Enabled(context.Background(), slog.LevelDebug) }
func (m machinery) IsInfo() bool  { return m.IsDebug() }
func (m machinery) IsWarn() bool  { return m.IsDebug() }
func (m machinery) IsError() bool { return m.IsDebug() }

func (m machinery) ImpliedArgs() []any { return m.implied }
func (m machinery) Name() string       { return m.name }

func (m machinery) With(args ...any) hclog.Logger {
	m.implied = append(m.implied[:len(m.implied):len(m.implied)], args...)
	return m
}

func (m machinery) Named(name string) hclog.Logger {
	if m.name != "" {
		name = m.name + "." + name
	}
	return m.ResetNamed(name)
}

func (m machinery) ResetNamed(name string) hclog.Logger {
	m.name = name
	return m
}

func (m machinery) SetLevel(hclog.Level) {}

func (m machinery) GetLevel() hclog.Level {
	if m.IsDebug() {
		return hclog.Debug
	}
	return hclog.Off
}

func (m machinery) StandardLogger(*hclog.StandardLoggerOptions) *log.Logger {
	return slog.NewLogLogger(m.log.Handler(), slog.LevelDebug)
}

func (m machinery) StandardWriter(o *hclog.StandardLoggerOptions) io.Writer {
	return m.StandardLogger(o).Writer()
}
