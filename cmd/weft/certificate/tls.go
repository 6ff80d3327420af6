// Package certificate is `weft tls`: the certificates of server and nodes.
package certificate

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core/hostlist"
	certs "github.com/weft-hpc/weft/identity"
)

func New() *cobra.Command {
	var dir string
	cmd := cli.Holder("tls", "Make the certificates of the server and the nodes",
		&cobra.Command{
			Use: "init [HOST…]", Short: "Make or renew the certificates of the site and the server",
			Long: `Make the site's certificate authority, and the server's certificate for these
names and addresses. Without HOST, Weft takes the name of this host. Run it
again to renew the certificate.`,
			RunE: func(_ *cobra.Command, hosts []string) error {
				if len(hosts) == 0 {
					name, err := os.Hostname()
					if err != nil {
						return cli.Usage("tls init: HOST is missing: %w", err)
					}
					hosts = []string{name}
				}
				if err := certs.Init(dir, hosts, time.Now()); err != nil {
					return err
				}
				fmt.Printf("%s: ca.crt, server.crt and server.key are there; keep ca.key where nobody else can read it\n", dir)
				return nil
			},
		},
		&cobra.Command{
			Use: "node HOSTLIST…", Short: "Make or renew the certificates of these nodes", Args: cobra.MinimumNArgs(1),
			RunE: func(_ *cobra.Command, lists []string) error {
				names, err := nodeNames(lists)
				if err != nil {
					return cli.Usage("tls node: %w", err)
				}
				for _, name := range names {
					if err := certs.IssueNode(dir, name, time.Now()); err != nil {
						return err
					}
					fmt.Printf("bring %s, %s and ca.crt to %s, into the folder that tls in its agent block names (%s unless it does)\n",
						filepath.Join(dir, name+".crt"), name+".key", name, config.DefaultTLS)
				}
				return nil
			},
		},
	)
	cmd.PersistentFlags().StringVar(&dir, "tls", config.DefaultTLS, "folder of the site's certificate authority")
	return cmd
}

// nodeNames are the nodes of hostlists. One that is wrong ends it before the first certificate is made.
func nodeNames(lists []string) ([]string, error) {
	var names []string
	for _, l := range lists {
		list, err := hostlist.Parse(l)
		if err != nil {
			return nil, err
		}
		more, err := list.ExpandMax(config.MaxNodes - len(names))
		if err != nil {
			return nil, err
		}
		if len(more) == 0 {
			return nil, fmt.Errorf("%q names no node; give names or a hostlist such as n[001-128]", l)
		}
		names = append(names, more...)
	}
	for _, name := range names {
		if err := certs.CheckNode(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}
