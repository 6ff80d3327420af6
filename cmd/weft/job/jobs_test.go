package job

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// Services that no record explains are of no scheduler.
func TestPrintJob(t *testing.T) {
	for _, test := range []struct {
		row  server.JobRow
		want string
	}{
		{server.JobRow{Scheduler: "tioga", Job: "7", User: "ann", State: "active"}, "job tioga/7, run 0, of ann: active since "},
		{server.JobRow{Job: "unknown:n1:900:102", UID: 900, State: "held", Unknown: true}, "unknown:n1:900:102, not made by Weft: held since "},
	} {
		test.row.VNIs = []core.VNI{102}
		var out strings.Builder
		printJob(&out, server.JobDetail{JobRow: test.row})
		if got := out.String(); !strings.HasPrefix(got, test.want) || strings.Contains(got, "traffic classes") {
			t.Errorf("%q, want %q first and no empty line", got, test.want)
		}
	}
}
