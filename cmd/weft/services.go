package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

func newServices(o *options) *cobra.Command {
	var node string
	var all bool
	cmd := o.listing(&cobra.Command{
		Use: "services", Short: "List the CXI services on a node's NICs, and whose each is", Args: cobra.NoArgs,
		Long: `List the CXI services on a node's NICs, and whose each is. The table has one line for NICs whose service is the same; -o json has
one element for each NIC. Inside a job the node is the job's own.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, _, at, err := o.jobHere(nil, node)
			if err != nil {
				return err
			}
			if at == "" {
				return misuse(cmd, fmt.Errorf("services: --node is missing"))
			}
			rows, err := listNode[agent.ServiceRow](cmd.Context(), o, at, "services")
			if err != nil {
				return err
			}
			if !all {
				rows = slices.DeleteFunc(rows, func(r agent.ServiceRow) bool { return r.Kind == "system" || r.Kind == "default" && !r.Enabled })
			}
			return o.print(stdout(), nonNil(rows), func(w io.Writer) { printServices(w, rows) })
		},
	})
	cmd.Flags().StringVar(&node, "node", "", "the node")
	cmd.Flags().BoolVar(&all, "all", false, "the driver's own services and a disabled default service too")
	o.nodeNames().flag(cmd, "node")
	return cmd
}

// printServices prints one line for services that differ in their NIC alone.
func printServices(w io.Writer, rows []agent.ServiceRow) {
	var order []string
	devices, lines := map[string][]string{}, map[string][]string{}
	for _, r := range rows {
		var limits []string
		for _, name := range core.ResourceNames() {
			if l := r.Limits[name]; l[1] > 0 {
				limits = append(limits, fmt.Sprintf("%s %d/%d", name, l[0], l[1]))
			}
		}
		whose := r.Job
		if whose == "" {
			whose = strings.ToUpper(r.Kind)
		}
		line := []string{"", fmt.Sprint(r.Service), whose, r.Owner, core.FormatVNIs(r.VNIs), strings.Join(r.Classes, ","), strings.Join(limits, " ")}
		key := strings.Join(line, "\t")
		if lines[key] == nil {
			order, lines[key] = append(order, key), line
		}
		devices[key] = append(devices[key], r.Device)
	}
	out := make([][]string, 0, len(order))
	for _, key := range order {
		slices.SortFunc(devices[key], hostlist.Compare)
		lines[key][0] = hostlist.Fold(devices[key])
		out = append(out, lines[key])
	}
	columns(w, "NIC SERVICE JOB OWNER VNIS CLASSES RESERVED/MAX", out)
}
