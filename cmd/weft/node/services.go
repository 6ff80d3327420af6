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
		Long: `List the CXI services on a node's NICs, and whose each is. The table has one line for NICs whose service is the same; -o json has
one element for each NIC. Inside a job the node is the job's own, on a node with an agent it is that one.

ORPHAN in place of a job is a service that no record explains: ` + "`weft clean`" + ` removes it where its VNIs are of Weft's pools. SYSTEM and DEFAULT are the
driver's own; DEFAULT is shown without --all where it is enabled, which voids isolation.`,
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
	o.NodeFlag(cmd, &node, "the node")
	cmd.Flags().BoolVar(&all, "all", false, "the driver's own services and a disabled default service too")
	cmd.Flags().BoolVar(&most, "max", false, "show the most that a service may have of each resource beside what is reserved for it")
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
		line := []string{"", fmt.Sprint(r.Service), whose(r), r.Owner, core.FormatVNIs(r.VNIs), strings.Join(r.Classes, ","), strings.Join(limits, " "), strings.Join(used, " ")}
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
