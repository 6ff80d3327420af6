package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// askLimit bounds a question to all nodes, of which the server asks many at once.
const askLimit = 10 * time.Minute

// asked holds the rows of one node's list, or why it gave none.
type asked[T any] struct {
	Node  string `json:"node"`
	Error string `json:"error,omitempty"`
	Rows  []T    `json:"rows,omitempty"`
}

// everyNode has the server ask all nodes for a list. On a terminal it shows how far it is.
func everyNode[T any](ctx context.Context, o *cli.Options, verb string, limit time.Duration) ([]asked[T], error) {
	path, err := o.Socket("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	all := []asked[T]{} // never nil: it is [] in JSON
	shown := term.IsTerminal(int(os.Stderr.Fd()))
	args := server.AskArgs{Verb: verb, Limit: limit}
	err = hook.Pages(ctx, path, server.VerbAsk, args, func(page json.RawMessage) error {
		var some []server.AskRow
		if err := json.Unmarshal(page, &some); err != nil {
			return core.Errorf(core.InternalFault, "list of nodes: %w", err)
		}
		for _, row := range some {
			a := asked[T]{Node: row.Node, Error: row.Error}
			if row.Error == "" && json.Unmarshal(row.Rows, &a.Rows) != nil {
				a.Error = "its answer cannot be understood"
			}
			if last := len(all) - 1; last >= 0 && all[last].Node == a.Node { // its list came in parts
				all[last].Rows = append(all[last].Rows, a.Rows...)
				all[last].Error = a.Error
				continue
			}
			all = append(all, a)
		}
		if shown {
			fmt.Fprintf(os.Stderr, "\r%s asked", core.Plural(len(all), "node"))
		}
		return nil
	})
	if shown && len(all) > 0 {
		fmt.Fprintln(os.Stderr)
	}
	return all, err
}
