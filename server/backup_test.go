package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/memory"
)

// exported is a store that has a backup.
type exported struct {
	engine.Store
	export func(w io.Writer) error
}

func (e exported) Export(_ context.Context, w io.Writer) error { return e.export(w) }

// Root gets a backup, one at a time, and the audit says so. Other users get none.
func TestBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var audit bytes.Buffer
		again := func() error { return nil }
		s := start(t, func(n *server.Needs) {
			n.Audit = slog.New(slog.NewTextHandler(&audit, nil))
			n.Store = exported{n.Store, func(w io.Writer) error {
				if err := again(); err != nil {
					return err
				}
				_, err := io.WriteString(w, "all of it")
				return err
			}}
		})
		defer s.stop()
		verbs := &server.Verbs{Server: s.Server}
		ask := func(uid uint32, w io.Writer) error {
			req := hook.Request{Verb: server.VerbBackup, ID: "5e"}
			reply, err := verbs.Handle(t.Context(), core.Peer{UID: uid}, req)
			if err != nil {
				return err
			}
			return reply.(hook.Stream)(t.Context(), w)
		}
		var got bytes.Buffer
		if err := ask(0, &got); err != nil || got.String() != "all of it" {
			t.Errorf("got %q, %v", got.String(), err)
		}
		if err := ask(61000, &got); core.ReasonOf(err) != core.NotAllowed {
			t.Errorf("a user: %v", err)
		}
		again = func() error { return ask(0, io.Discard) }
		err := ask(0, &got)
		if core.ReasonOf(err) != core.Overloaded || !strings.Contains(err.Error(), "another backup is under way") {
			t.Errorf("two at a time: %v", err)
		}
		for _, want := range []string{"msg=backup", "root", "not-allowed", "another backup is under way"} {
			if !strings.Contains(audit.String(), want) {
				t.Errorf("the audit lacks %q:\n%s", want, audit.String())
			}
		}
		other := start(t, func(n *server.Needs) { n.Store = memory.New() })
		defer other.stop()
		verbs.Server = other.Server
		if err := ask(0, &got); core.ReasonOf(err) != core.NotSupported {
			t.Errorf("a store in memory: %v", err)
		}
	})
}
