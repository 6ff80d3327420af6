// Package identity makes and reads the certificates by which server and agents know each other.
//
// A site has one authority of its own, made by `weft tls init`. It signs two roles, told apart by a URI in the certificate: the server, and a node of a
// certain name. A node's name is what its certificate says and nothing else, so no node can speak for another; and a node's certificate is no server's, so
// none can play the server to others. TLS 1.3 only. Files are read again when they change, so that a renewal needs no restart.
package identity

import (
	"crypto/x509"
	"net/url"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// The URIs that name a role: weft:server and weft:node:NAME.
const (
	scheme     = "weft"
	serverRole = "server"
	nodePrefix = "node:"
)

func serverURI() *url.URL { return &url.URL{Scheme: scheme, Opaque: serverRole} }

func nodeURI(node string) *url.URL { return &url.URL{Scheme: scheme, Opaque: nodePrefix + node} }

// role is the one role that a certificate names.
func role(c *x509.Certificate) (string, *core.Error) {
	found := ""
	for _, u := range c.URIs {
		if u.Scheme != scheme {
			continue
		}
		if found != "" {
			return "", core.Errorf(core.NotAllowed, "certificate of %s: it names two roles", core.Clip(c.Subject.CommonName)).WithRemedy(mend)
		}
		found = u.Opaque
	}
	if found == "" {
		return "", core.Errorf(core.NotAllowed, "certificate of %s: it is not one that `weft tls` made", core.Clip(c.Subject.CommonName)).WithRemedy(mend)
	}
	return found, nil
}

// mend is what helps whoever shows a certificate of another kind; that root may more, as is said of a caller, does not.
const mend = "make it anew with `weft tls node NAME`, or `weft tls init` for the server, where the site's authority is"

// Node is the node that a verified certificate is of.
func Node(c *x509.Certificate) (string, error) {
	r, err := role(c)
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(r, nodePrefix)
	if !ok {
		return "", core.Errorf(core.NotAllowed, "certificate of %s: it is no node's", core.Clip(c.Subject.CommonName)).WithRemedy(mend)
	}
	if err := core.CheckName("node", name, core.MaxNodeName); err != nil {
		return "", err
	}
	return name, nil
}

// checkServer refuses a certificate that is not the server's.
func checkServer(c *x509.Certificate) error {
	r, err := role(c)
	if err != nil {
		return err
	}
	if r != serverRole {
		return core.Errorf(core.NotAllowed, "certificate of %s: it is no server's", core.Clip(c.Subject.CommonName)).WithRemedy(mend)
	}
	return nil
}
