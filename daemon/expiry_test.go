package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lines is a log of one goroutine.
type lines struct{ bytes.Buffer }

func (l *lines) with(text string) (found []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func TestACertificateThatEndsSoonIsSpokenOf(t *testing.T) {
	for _, tt := range []struct {
		name  string
		left  time.Duration
		after time.Duration
		lines int
		level string
	}{
		{"it lasts", 31 * 24 * time.Hour, time.Hour, 0, ""},
		{"it ends soon", 30*24*time.Hour - time.Minute, time.Hour, 1, "WARN"},
		{"twice a day", 20 * 24 * time.Hour, 25 * time.Hour, 3, "WARN"},
		{"it comes near while the daemon runs", 31 * 24 * time.Hour, 37 * time.Hour, 2, "WARN"},
		{"it has ended", -time.Minute, time.Hour, 1, "ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lines{}
				ends := time.Now().Add(tt.left)
				ctx, cancel := context.WithTimeout(t.Context(), tt.after)
				defer cancel()
				warnExpiry(ctx, slog.New(slog.NewTextHandler(l, nil)), "the server's", func() time.Time { return ends }, "renew it")
				if got := l.with("the server's certificate"); len(got) != tt.lines {
					t.Errorf("%d lines, want %d: %q", len(got), tt.lines, got)
				}
				if got := l.with("level=" + tt.level); tt.lines > 0 && len(got) != tt.lines {
					t.Errorf("not all lines are %s", tt.level)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // the moment at which it ends is between two of those of every day
		l := &lines{}
		ends := time.Now().Add(5 * time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Hour)
		defer cancel()
		warnExpiry(ctx, slog.New(slog.NewTextHandler(l, nil)), "this node's", func() time.Time { return ends }, "renew it")
		if w, e := l.with("level=WARN"), l.with("level=ERROR"); len(w) != 1 || len(e) != 1 || !strings.Contains(e[0], "has ended") {
			t.Errorf("warned by %q, told by %q", w, e)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := &lines{}
		now := time.Now()
		shown := map[string]time.Time{"n1": now.Add(9 * 24 * time.Hour), "n2": now.Add(8 * 24 * time.Hour), "n3": now.Add(300 * 24 * time.Hour), "n4": {}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		warnNodes(ctx, slog.New(slog.NewTextHandler(l, nil)), func() map[string]time.Time { return shown })
		if got := l.with("certificates end soon"); len(got) != 1 || !strings.Contains(got[0], "count=2") || !strings.Contains(got[0], "node=n2") {
			t.Errorf("of the nodes' certificates the log says %q", got)
		}
	})
}
