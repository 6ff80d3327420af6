package store

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

func newShow(o *cli.Options) *cobra.Command {
	most := 0
	cmd := &cobra.Command{
		Use: "show STORE|FILE", Short: "Show a store that no server uses, or a backup", Args: cobra.ExactArgs(1),
		Long: `Show a store that no server uses, or a backup: its reservations, and the nodes
that it knows. Standard input is -.

` + aboutStore,
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 {
				return cli.Misuse(cmd, "show: --most %d: it is not positive", most)
			}
			return show(cmd.Context(), o, args[0], most)
		},
	}
	cmd.Flags().IntVar(&most, "most", 1000, "show the first `N` reservations, and as many nodes")
	return o.Listing(cmd)
}

// content is a store for a person or a script.
type content struct {
	Store        string         `json:"store"`
	Epoch        uint64         `json:"epoch"`
	Revision     uint64         `json:"revision"`
	Incarnation  string         `json:"incarnation,omitempty"`
	Recovering   time.Time      `json:"recovering,omitzero"` // since when its server waits for the nodes
	Without      []string       `json:"without,omitempty"`   // the nodes that it does not wait for
	MovedTo      string         `json:"moved_to,omitempty"`
	CopyFrom     string         `json:"copy_from,omitempty"` // the copy has not ended
	Records      map[string]int `json:"records"`             // by table
	Reservations []*reservation `json:"reservations"`
	Nodes        []node         `json:"nodes"`

	most int
	of   map[uint64]*reservation
}

// reservation is one of a store, with its phase and the number of its nodes.
type reservation struct {
	Serial    uint64     `json:"serial"`
	Scheduler string     `json:"scheduler"`
	Job       string     `json:"job"`
	User      string     `json:"user,omitempty"`
	UID       uint32     `json:"uid"`
	State     string     `json:"state"`
	Why       string     `json:"why,omitempty"`
	VNIs      []core.VNI `json:"vnis"`
	Made      time.Time  `json:"made"`
	Policy    string     `json:"policy,omitempty"` // hash
	Nodes     int        `json:"nodes"`
	Unclean   int        `json:"unclean"`

	first string
}

// node is one of a store.
type node struct {
	Name      string    `json:"name"`
	Boot      string    `json:"boot,omitempty"`
	Inventory []string  `json:"inventory,omitempty"`
	Drained   string    `json:"drained,omitempty"`
	DrainedBy string    `json:"drained_by,omitempty"`
	DrainedAt time.Time `json:"drained_at,omitzero"`
}

func show(ctx context.Context, o *cli.Options, arg string, most int) error {
	from, err := sourceOf(arg)
	if err != nil {
		return err
	}
	c := content{
		Records: map[string]int{}, Reservations: []*reservation{}, Nodes: []node{},
		most: most, of: map[uint64]*reservation{},
	}
	moved, err := from.load(ctx, func(r engine.Record) error { c.take(r); return nil })
	if err != nil {
		return err
	}
	c.MovedTo, c.CopyFrom = moved.To, moved.From
	return cli.Print(o, c, printContent)
}

func (c *content) take(r engine.Record) {
	c.Records[record.TableName(r.Slot().Table)]++
	switch r := r.(type) {
	case engine.Meta:
		h := r.Head
		c.Store, c.Epoch, c.Revision, c.Incarnation = h.Store, h.Epoch, h.Revision, fmt.Sprintf("%016x", h.Incarnation)
		c.Recovering, c.Without = r.Recovering, r.Without
	case engine.Node:
		if len(c.Nodes) < c.most {
			c.Nodes = append(c.Nodes, node{r.Name, r.Boot, r.Inventory, r.Drained, r.DrainedBy, r.DrainedAt})
		}
	case engine.Reservation:
		if len(c.Reservations) == c.most {
			return
		}
		one := &reservation{
			Serial: r.Serial, Scheduler: r.Job.Scheduler, Job: r.Job.Job, User: r.Job.User, UID: r.Job.UID,
			State: engine.Active.String(), VNIs: engine.VNIsOf(r.VNIs), Made: r.Made, Policy: r.Grant.Policy,
			first: r.First.Node,
		}
		one.join(r.First, true)
		c.Reservations, c.of[r.Serial] = append(c.Reservations, one), one
	case engine.Transition:
		if one := c.of[r.Serial]; one != nil {
			one.State, one.Why = r.State.String(), r.Why
		}
	case engine.Join:
		if one := c.of[r.Serial]; one != nil {
			one.join(r, r.Node != one.first)
		}
	}
}

// join counts a node. The first one has a Join record, too, once it is clean.
func (r *reservation) join(j engine.Join, another bool) {
	switch {
	case another:
		if r.Nodes++; !j.Clean {
			r.Unclean++
		}
	case j.Clean:
		r.Unclean--
	}
}

func printContent(w io.Writer, c content) {
	fmt.Fprintf(w, "store %s at epoch %d revision %d%s\n", core.Flat(c.Store), c.Epoch, c.Revision,
		unused(record.Move{To: c.MovedTo, From: c.CopyFrom}))
	if !c.Recovering.IsZero() {
		fmt.Fprintf(w, "its server waits for the nodes since %s\n", c.Recovering.Local().Format(time.DateTime))
	}
	fmt.Fprintln(w)
	cli.Table(w, "SERIAL SCHEDULER JOB USER STATE MADE VNIS HOLDING WHY", c.Reservations, func(r *reservation) []string {
		return []string{
			fmt.Sprint(r.Serial), r.Scheduler, r.Job, cli.Account(r.User, r.UID), r.State,
			r.Made.Local().Format(time.DateTime), core.VNIRanges(r.VNIs), fmt.Sprintf("%d/%d", r.Unclean, r.Nodes), r.Why,
		}
	})
	rest(w, "reservation", c.Records, len(c.Reservations))
	cli.Table(w, "NODE DRAINED BY", c.Nodes, func(n node) []string { return []string{n.Name, n.Drained, n.DrainedBy} })
	rest(w, "node", c.Records, len(c.Nodes))
	fmt.Fprintf(w, "policies %d, jobs that are over %d\n",
		c.Records[record.TableName(engine.TableText)], c.Records[record.TableName(engine.TableTombstone)])
}

// rest says how many rows of a table are not shown.
func rest(w io.Writer, table string, records map[string]int, shown int) {
	if more := records[table] - shown; more > 0 {
		fmt.Fprintf(w, "… and %d more: see --most\n", more)
	}
	fmt.Fprintln(w)
}
