package node

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

func NewServices(o *cli.Options) *cobra.Command {
	var node string
	var all bool
	var limit time.Duration
	cmd := o.Listing(&cobra.Command{
		Use: "services", Short: "List the CXI services on a node's NICs, and their owners", Args: cobra.NoArgs,
		Long: `List the CXI services on a node's NICs, and their owners. The table has one
line for NICs with the same service; -o json has one element for each NIC.
Inside a job, the default node is the node of the job. On a node with an agent,
it is that node.

ORPHAN in place of a job marks a service without a record. ` + "`weft clean`" + ` removes
it if its VNIs belong to Weft's pools. SYSTEM and DEFAULT mark the services of
the driver. An enabled DEFAULT voids isolation.

With --all, the server asks every node, and the table has one line for nodes
with the same service. Only root and the members of admin_group may do this.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				if node != "" {
					return cli.Misuse(cmd, "services: --all is of every node; leave out --node")
				}
				nodes, err := everyNode[agent.ServiceRow](cmd.Context(), o, agent.VerbServices, askServices)
				if err != nil {
					return err
				}
				if err := cli.Print(o, nodes, printAll); err != nil {
					return err
				}
				return silent(nodes)
			}
			at, err := o.NodeHere(cmd, node)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), limit)
			defer cancel()
			rows, err := cli.ListNode[agent.ServiceRow](ctx, o, at, agent.VerbServices, nil)
			if err != nil {
				return err
			}
			return cli.Print(o, rows, PrintServices)
		},
	})
	o.NodeFlag(cmd, &node, "list the services on this node")
	cmd.Flags().BoolVar(&all, "all", false, "list the services on every node")
	cmd.Flags().DurationVar(&limit, "limit", doctorTime, "time limit of one node's list")
	return cmd
}

// askServices is the time in which a node must list its services.
const askServices = 5 * time.Second

// silent is an error where some nodes told nothing.
func silent[T any](nodes []asked[T]) error {
	var names []string
	for _, n := range nodes {
		if n.Error != "" {
			names = append(names, n.Node)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return core.Errorf(core.ServerAway, "%s of %d told nothing: %s", core.Plural(len(names), "node"), len(nodes), hostlist.Fold(names)).
		WithRemedy("`weft nodes` shows which agents have a session")
}

// PrintServices prints one line for services of one node that differ in their NIC alone.
func PrintServices(w io.Writer, rows []agent.ServiceRow) {
	cli.Table(w, serviceHead, serviceLines(rows), func(line []string) []string { return line })
}

// printAll prints one line for services of several nodes that differ in their node alone.
func printAll(w io.Writer, nodes []asked[agent.ServiceRow]) {
	var lines folded
	for _, n := range nodes {
		for _, line := range serviceLines(n.Rows) {
			lines.add(n.Node, line)
		}
	}
	cli.Table(w, "NODE "+serviceHead, lines.order, lines.line)
}

const serviceHead = "NIC SERVICE JOB OWNER VNIS CLASSES LNIS/RGID RESERVED/MAX IN-USE"

func serviceLines(rows []agent.ServiceRow) (out [][]string) {
	var lines folded
	for _, r := range rows {
		var limits, used []string
		for _, name := range core.ResourceNames() {
			l := r.Limits[name]
			if l[1] > 0 {
				limits = append(limits, fmt.Sprintf("%s %d/%d", name, l[0], l[1]))
			}
			if l[2] > 0 && l[2] != unowned {
				used = append(used, fmt.Sprintf("%s %d", name, l[2]))
			}
		}
		lnis := ""
		if r.LNIs > 0 {
			lnis = fmt.Sprint(r.LNIs)
		}
		lines.add(r.Device, []string{
			fmt.Sprint(r.Service), whose(r), r.Owner, core.VNIRanges(r.VNIs), strings.Join(r.Classes, ","), lnis,
			strings.Join(limits, " "), strings.Join(used, " "),
		})
	}
	for _, key := range lines.order {
		out = append(out, lines.line(key))
	}
	return out
}

// folded are the lines of a table, with the names of those that have each.
type folded struct {
	order []string
	names map[string][]string
}

func (f *folded) add(name string, line []string) {
	for i, cell := range line {
		line[i] = core.Flat(cell)
	}
	key := strings.Join(line, "\t")
	if f.names == nil {
		f.names = map[string][]string{}
	}
	if f.names[key] == nil {
		f.order = append(f.order, key)
	}
	f.names[key] = append(f.names[key], name)
}

// line is a line behind the hostlist of the names that have it.
func (f *folded) line(key string) []string {
	slices.SortFunc(f.names[key], hostlist.Compare)
	return append([]string{hostlist.Fold(f.names[key])}, strings.Split(key, "\t")...)
}

// unowned is what newer drivers tell as in use of list entries of which the service has no pool of its own.
const unowned = 0xffff

// whose is the job of a service, or what it is in place of a job's.
func whose(r agent.ServiceRow) string {
	who := r.Job
	switch {
	case r.Kind == "unknown":
		who = "ORPHAN"
	case who == "":
		who = strings.ToUpper(r.Kind)
	}
	if !r.Enabled {
		who += ",disabled"
	}
	return who
}
