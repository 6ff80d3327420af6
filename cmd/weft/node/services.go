package node

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

func NewServices(o *cli.Options) *cobra.Command {
	var node string
	var all, most bool
	cmd := o.Listing(&cobra.Command{
		Use: "services", Short: "List the CXI services on a node's NICs, and their owners", Args: cobra.NoArgs,
		Long: `List the CXI services on a node's NICs, and their owners. The table has one
line for NICs with the same service; -o json has one element for each NIC.
Inside a job, the default node is the node of the job. On a node with an agent,
it is that node.

ORPHAN in place of a job marks a service without a record. ` + "`weft clean`" + ` removes
it if its VNIs belong to Weft's pools. SYSTEM and DEFAULT mark the services of
the driver. An enabled DEFAULT voids isolation, so the list shows it even
without --all.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := o.NodeHere(cmd, node)
			if err != nil {
				return err
			}
			rows, err := cli.ListNode[agent.ServiceRow](cmd.Context(), o, at, "services", nil)
			if err != nil {
				return err
			}
			if !all {
				rows = slices.DeleteFunc(rows, func(r agent.ServiceRow) bool { return r.Kind == "system" || r.Kind == "default" && !r.Enabled })
			}
			return cli.Print(o, rows, func(w io.Writer, rows []agent.ServiceRow) { PrintServices(w, rows, most) })
		},
	})
	o.NodeFlag(cmd, &node, "list the services on this node")
	cmd.Flags().BoolVar(&all, "all", false, "also show the driver's services and a disabled default service")
	cmd.Flags().BoolVar(&most, "max", false, "show the limit of each resource next to the reserved amount")
	return cmd
}

// PrintServices prints one line for services that differ in their NIC alone.
func PrintServices(w io.Writer, rows []agent.ServiceRow, most bool) {
	var order []string
	devices, lines := map[string][]string{}, map[string][]string{}
	for _, r := range rows {
		var limits, used []string
		for _, name := range core.ResourceNames() {
			l := r.Limits[name]
			switch {
			case most && l[1] > 0:
				limits = append(limits, fmt.Sprintf("%s %d/%d", name, l[0], l[1]))
			case !most && l[0] > 0:
				limits = append(limits, fmt.Sprintf("%s %d", name, l[0]))
			}
			if l[2] > 0 && l[2] != unowned {
				used = append(used, fmt.Sprintf("%s %d", name, l[2]))
			}
		}
		line := []string{"", fmt.Sprint(r.Service), whose(r), r.Owner, core.VNIRanges(r.VNIs), strings.Join(r.Classes, ","), strings.Join(limits, " "), strings.Join(used, " ")}
		key := strings.Join(line, "\t")
		if lines[key] == nil {
			order, lines[key] = append(order, key), line
		}
		devices[key] = append(devices[key], r.Device)
	}
	head := "NIC SERVICE JOB OWNER VNIS CLASSES RESERVED IN-USE"
	if most {
		head = "NIC SERVICE JOB OWNER VNIS CLASSES RESERVED/MAX IN-USE"
	}
	cli.Table(w, head, order, func(key string) []string {
		slices.SortFunc(devices[key], hostlist.Compare)
		lines[key][0] = hostlist.Fold(devices[key])
		return lines[key]
	})
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
