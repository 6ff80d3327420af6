package daemon

import (
	"cmp"
	"fmt"
	"io"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// printServers prints what one of several servers knows of all of them.
func printServers(w io.Writer, s server.ServersRow, term uint64) {
	switch {
	case s.Leads:
		fmt.Fprintf(w, "this server, %s, has led for %s, term %d\n", s.Name, cli.Ago(s.Since), term)
	case s.Leader == "":
		fmt.Fprintf(w, "NO SERVER LEADS, SO NEW JOBS WAIT; this one, %s, read the store %s ago\n", s.Name, s.Age)
	default:
		fmt.Fprintf(w, "%s has led for %s, term %d; this server, %s, follows and read the store %s ago: "+
			"run all that changes something there\n", s.Leader, cli.Ago(s.Since), term, s.Name, s.Age)
	}
	if s.Fault != "" {
		fmt.Fprintln(w, "THE STORE CANNOT BE READ: "+s.Fault)
	}
	if s.Twin != "" {
		fmt.Fprintf(w, "ANOTHER SERVER HAS THIS ONE'S NAME, on %s: give each a `name` in config.hcl\n", s.Twin)
	}
	cli.Table(w, "SERVER ADDRESS ROLE BEHIND VERSION", s.Members, func(m server.MemberRow) []string {
		role := "leader"
		switch {
		case m.Leads:
		case m.Warm:
			role = "standby"
		default:
			role = "standby, would wait for every node"
		}
		return []string{m.Name, cmp.Or(m.Address, "-"), role, core.Plural(int(m.Behind), "commit"), m.Version}
	})
	cli.Table(w, "ETCD ROLE DATABASE VERSION FAULT", s.Etcd, func(e server.EtcdRow) []string {
		role := "member"
		if e.Leads {
			role = "leader"
		}
		if e.Version == "" {
			role = "-"
		}
		size := fmt.Sprintf("%.1f MiB", float64(e.Bytes)/(1<<20))
		return []string{e.Endpoint, role, size, cmp.Or(e.Version, "-"), cmp.Or(e.Fault, "-")}
	})
}
