package metrics_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/server"
)

func TestATokenIsInNoLogAuditMetricOrList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		s.play()
		if !strings.Contains(s.replies, "FI_CXI_COLL_MCAST_TOKEN="+token) {
			t.Fatal("no task was given the token, so this test shows nothing")
		}
		seen := map[string]string{"log": s.log.String(), "audit": s.audit.String(), "server's /metrics": scrape(t, s.serverPage), "agent's /metrics": scrape(t, s.agentPage)}
		for _, verb := range []string{"status", "jobs", "vnis", "nodes"} {
			seen["weft "+verb] = list(t, s.verbs.Handle, verb, nil)
		}
		seen["weft job"] = list(t, s.verbs.Handle, "job", server.JobArgs{Job: "9"})
		seen["weft services"] = list(t, s.node.Handle, "services", nil)
		for where, text := range seen {
			if len(text) < 20 {
				t.Errorf("%s: %q shows nothing", where, text)
			}
			if strings.Contains(text, token) {
				t.Errorf("%s has the token", where)
			}
		}
	})
}

func list(t *testing.T, handle listener.Handler, verb string, args any) string {
	t.Helper()
	req := hook.Request{ID: "list", Verb: verb}
	if args != nil {
		req.Body, _ = json.Marshal(args)
	}
	out, err := handle(t.Context(), core.Peer{}, req)
	if err != nil {
		t.Fatalf("%s: %v", verb, err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOneCallIDFromHookToDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		s.play()
		for _, want := range []struct{ what, call, line string }{
			{"the server's grant", "call-prolog-7", "msg=granted"},
			{"the server's refusal", "call-prolog-666", `msg="refused: `},
			{"the driver's creation", "call-prolog-7", "verb=create"},
			{"the driver's reading for a prepare", "call-prolog-7", "verb=read"},
			{"the driver's removal", "call-epilog-7", "verb=destroy"},
			{"the node's own fault", "call-prolog-11", "EIO"},
		} {
			found := false
			for line := range strings.Lines(s.log.String()) {
				found = found || strings.Contains(line, "call="+want.call) && strings.Contains(line, want.line)
			}
			if !found {
				t.Errorf("%s is in no line with call=%s", want.what, want.call)
			}
		}
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
}
