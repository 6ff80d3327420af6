package job

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/history"
)

// printHistory prints the jobs of the past and of now, as lines of JSON or as a table. since is a duration before now, a day or a time; empty: all that is kept.
func printHistory(o *cli.Options, path, since string) error {
	from, err := cli.Moment(since, time.Now())
	if err != nil {
		return cli.Usage("%w", err)
	}
	c, findings := config.Load(path)
	if hclfile.Failed(findings) {
		return cli.Unusable(path, findings)
	}
	if c.Server.History == "" {
		return core.Errorf(core.NotThere, "jobs: %s keeps no history", path).WithRemedy(`name a file: server { history = "/var/log/weft/jobs.jsonl" }, and restart the server`)
	}
	rows, bad, err := history.Read(c.Server.History, from)
	if err != nil {
		return err
	}
	if bad > 0 {
		fmt.Fprintf(os.Stderr, "weft: %s of the history cannot be read and are left out\n", core.Plural(bad, "line"))
	}
	if o.Output == "json" {
		for _, r := range rows {
			if err := cli.JSONLine(r); err != nil {
				return err
			}
		}
		return nil
	}
	return cli.Print(o, rows, func(w io.Writer, rows []history.Row) {
		cli.Table(w, "SCHEDULER JOB USER ACCOUNT QUEUE MADE ENDED VNIS", rows, func(r history.Row) []string {
			return []string{
				r.Job.Scheduler, r.Job.ID, cli.Account(r.Job.User, r.Job.UID), r.Job.Account, r.Job.Queue,
				cli.Date(r.Made, time.DateTime), cli.Date(r.Ended, time.DateTime), core.VNIRanges(r.VNIs),
			}
		})
	})
}
