package connection

import (
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
)

// OpenNode opens this node's certificate: the one in dir that is neither the authority's nor the server's. The node is called what it says.
func OpenNode(dir string) (*identity.Source, string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.crt"))
	if err != nil {
		return nil, "", core.Errorf(core.BadConfig, "agent: tls: %w", err)
	}
	var mine []string
	for _, path := range all {
		if base := filepath.Base(path); base != identity.CAFile && base != "server.crt" {
			mine = append(mine, base)
		}
	}
	if len(mine) != 1 {
		return nil, "", core.Errorf(core.BadConfig, "agent: tls %s: it holds %d certificates of nodes, and this node has one", dir, len(mine)).
			WithRemedy("make it with `weft tls node NAME` where the site's authority is, and bring NAME.crt, NAME.key and ca.crt here")
	}
	certs, err := identity.Open(dir, strings.TrimSuffix(mine[0], ".crt"))
	if err != nil {
		return nil, "", err
	}
	name, err := certs.Node()
	return certs, name, err
}
