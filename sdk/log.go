package sdk

import (
	"context"
	"log/slog"
	"time"

	"github.com/hashicorp/go-hclog"
)

// handler lets slog speak the lines that the daemon reads from a plugin's standard error.
type handler struct {
	log   hclog.Logger
	group string
	args  []any
}

var _ slog.Handler = (*handler)(nil)

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.log.GetLevel() <= levelOf(level)
}

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	args := h.args[:len(h.args):len(h.args)]
	r.Attrs(func(a slog.Attr) bool {
		args = appendAttr(args, h.group, a)
		return true
	})
	h.log.Log(levelOf(r.Level), r.Message, args...)
	return nil
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := &handler{log: h.log, group: h.group, args: h.args[:len(h.args):len(h.args)]}
	for _, a := range attrs {
		out.args = appendAttr(out.args, h.group, a)
	}
	return out
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{log: h.log, group: h.group + name + ".", args: h.args}
}

func appendAttr(args []any, group string, a slog.Attr) []any {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			args = appendAttr(args, group, inner)
		}
		return args
	case slog.KindDuration:
		return append(args, group+a.Key, v.Duration().String())
	case slog.KindTime:
		return append(args, group+a.Key, v.Time().Format(time.RFC3339Nano))
	default:
	}
	if a.Key == "" {
		return args
	}
	return append(args, group+a.Key, v.Any())
}

func levelOf(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}
