package daemon

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

func NewVersion(o *cli.Options) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the release", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Println("weft " + o.Version)
		return err
	}}
}

func NewStatus(o *cli.Options) *cobra.Command {
	return o.Listing(&cobra.Command{
		Use: "status", Short: "Show the state of the system", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Answer(cmd.Context(), o, "status", nil, PrintStatus)
		},
	})
}

func PrintStatus(w io.Writer, s server.Status) {
	store := "not known"
	if s.Failure == "" {
		store = fmt.Sprintf("%.8s epoch %d revision %d", s.Store, s.Epoch, s.Revision)
	}
	fmt.Fprintf(w, "weft %s, up %s, store %s\n", s.Version, s.Up, store)
	if s.Servers != nil {
		printServers(w, *s.Servers, s.Epoch)
	}
	switch {
	case s.Failure != "":
		fmt.Fprintln(w, "NOTHING IS GRANTED: "+s.Failure)
	case s.Recovering && s.Awaited == 0:
		fmt.Fprintf(w, "NOTHING IS GRANTED: a store was lost, and what was in quarantine then is unknown; "+
			"every VNI rests first, which ends by itself in %s\n", cmp.Or(s.Rests, "a moment"))
	case s.Recovering:
		fmt.Fprintf(w, "NOTHING IS GRANTED: %s, and %s not reported yet: %s\n", cmp.Or(s.Cause, "the store is new or was lost"), have(s.Awaited, "node"), s.Missing)
	}
	if s.Lost != "" {
		fmt.Fprintln(w, "THE STORE'S WITNESS IS LOST: "+s.Lost)
	}
	if s.Refused != nil {
		fmt.Fprintf(w, "THE LAST RELOAD WAS REFUSED %s ago; policy %.12s and the configuration from before stay in force: %s\n", cli.Ago(s.Refused.At), s.Policy, s.Refused.Why)
	}
	if b := s.Shadow; b != nil {
		fmt.Fprintf(w, "policy %.12s decides beside %.12s, which is in force: %d of %s in %s would have got something else (`weft policy apply --shadow --report`)\n",
			b.Policy, s.Policy, b.Changed, core.Plural(b.Jobs, "job"), cli.Ago(b.Since))
	}
	if b := s.Observed; b != nil {
		fmt.Fprintf(w, "only observed: %s: of %s in %s Weft would have granted %d and refused %d, and drained %s; "+
			"%s given twice, %s left behind (`weft observe`)\n", strings.Join(b.Schedulers, ", "), core.Plural(b.Jobs, "job"), cli.Ago(b.Since), b.Granted,
			b.Refused, core.Plural(b.Drained, "node"), core.Plural(b.Twice, "VNI"), core.Plural(b.Left, "service"))
	}
	if left := time.Until(s.Expiry); !s.Expiry.IsZero() && left < server.ExpiresSoon {
		fmt.Fprintf(w, "the server's certificate ends on %s: renew it with `weft tls init`\n", s.Expiry.Format(time.DateOnly))
	}
	if e := s.Ending; e != nil {
		fmt.Fprintf(w, "%s certificates that end soon or have ended, the first, of %s, on %s: `weft nodes` shows each; renew one with `weft tls node NAME`\n", have(e.Nodes, "node"), e.First, e.Ends.Format(time.DateOnly))
	}
	if s.Vanished > 0 {
		fmt.Fprintf(w, "ALARM: %s vanished at once from their scheduler; if they are really gone, `weft forget --vanished` frees what they hold\n", core.Plural(s.Vanished, "job"))
	}
	if s.Kept > 0 {
		fmt.Fprintf(w, "ALARM: complete answers lack %s that nodes see alive; see whether their asker may see every job (`weft vnis`)\n", core.Plural(s.Kept, "job"))
	}
	for _, why := range s.Blind {
		fmt.Fprintln(w, "BLIND, SO NOTHING IS FREED: "+why)
	}
	for _, one := range s.Silent {
		why := cmp.Or(one.Why, "its adapter waits for an answer; `weft doctor` on the server's host looks at its commands")
		fmt.Fprintf(w, "SCHEDULER %s HAS NOT TOLD ITS JOBS FOR %s, SO NOTHING OF IT IS FREED: %s\n",
			one.Scheduler, cli.Ago(one.Since), why)
	}
	if s.TwoHosts != "" {
		fmt.Fprintf(w, "TWO HOSTS HAVE ONE CERTIFICATE, SO NOTHING OF %s IS FREED OR GRANTED: `weft nodes` names the hosts\n", s.TwoHosts)
	}
	if s.Failure != "" {
		fmt.Fprintln(w, "nodes, reservations and pools: not known while the store cannot be used")
		return
	}
	if s.Servers != nil && !s.Servers.Leads {
		fmt.Fprintf(w, "nodes: %d, %d drained; only the leader knows which are attached\n", s.Nodes, s.Drained)
	} else {
		fmt.Fprintf(w, "nodes: %d of %d attached, %d drained\n", s.Attached, s.Nodes, s.Drained)
	}
	var live []string
	for _, k := range slices.Sorted(maps.Keys(s.Live)) {
		live = append(live, fmt.Sprintf("%d %s", s.Live[k], k))
	}
	fmt.Fprintln(w, "reservations: "+cmp.Or(strings.Join(live, ", "), "none"))
	cli.Table(w, "POOL VNIS USED FREE", s.Pools, func(p server.PoolRow) []string {
		return []string{p.Pool, fmt.Sprint(p.Size), fmt.Sprint(p.Used), fmt.Sprint(p.Free)}
	})
}

func have(n int, what string) string {
	if n == 1 {
		return "1 " + what + " has"
	}
	return core.Plural(n, what) + " have"
}
