package metrics_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files and the table of docs/metrics.md anew")

// scrape gives a page's text.
func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics: %d: %s", w.Code, w.Body)
	}
	return strings.ReplaceAll(w.Body.String(), `go="`+runtime.Version()+`"`, `go="go1.x"`)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what it was (-was +is; -update takes it over):\n%s", path, diff)
	}
}

// chancy figures depend on who came first in one moment: which inputs shared a commit.
var chancy = regexp.MustCompile(`(?m)^(weft_commit_(?:inputs|duration_seconds)_\S+) ([1-9]\S*|0\.\d+)$`)

func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t)
		s.serverPage.Degraded("tioga")
		s.agentPage.Degraded("tioga", core.ServerAway)
		s.agentPage.Short("tioga")
		s.play()
		for name, h := range map[string]http.Handler{"server.txt": s.serverPage, "agent.txt": s.agentPage} {
			text := scrape(t, h)
			golden(t, name, chancy.ReplaceAllString(text, "$1 N"))
			problems, err := promlint.New(strings.NewReader(text)).Lint()
			if err != nil {
				t.Error(err)
			}
			for _, p := range problems {
				t.Errorf("%s: %s: %s", name, p.Metric, p.Text)
			}
		}
		golden(t, "audit.json", s.audit.String())
	})
}
