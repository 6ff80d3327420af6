package cluster

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/identity"
)

const host = "127.0.0.1"

// write makes the folders, certificates and configurations of all daemons.
func (c *Cluster) write() error {
	if _, err := os.Stat(filepath.Join(c.o.Dir, "server.db")); !errors.Is(err, fs.ErrNotExist) {
		return core.Errorf(core.BadConfig, "dir %s: the system there has one server", c.o.Dir).
			WithRemedy("give another folder with --dir")
	}
	etcd, err := c.etcdOf()
	if err != nil {
		return err
	}
	tls := filepath.Join(c.o.Dir, "tls")
	if err := identity.Init(tls, []string{host}, time.Now()); err != nil {
		return err
	}
	for _, dir := range []string{c.etcdFolder(), filepath.Join(c.etcdFolder(), "data")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	all := config.Simulated{Quarantine: c.o.Quarantine, NICs: c.o.NICs}
	if all.Policy, err = filepath.Abs(c.o.Policy); err != nil {
		return err
	}
	var addresses []string
	for i := range c.o.Servers {
		address, err := freeAddress()
		if err != nil {
			return err
		}
		addresses = append(addresses, address)
		one := all
		one.Server = config.Server{
			Name: serverName(i), Listen: address, Socket: "server.sock", TLS: "../../tls", AdminGroup: c.o.Admins, Etcd: etcd,
		}
		d := daemon{one.Server.Name, "server", filepath.Join(c.o.Dir, "servers", one.Server.Name)}
		if err := c.configure(d, one); err != nil {
			return err
		}
		c.servers = append(c.servers, d)
	}
	for _, node := range c.o.Nodes {
		d := daemon{node, "agent", dev.Folder(c.o.Dir, node)}
		one := all
		one.Agent = config.Agent{Servers: addresses, Dir: ".", TLS: "tls"}
		if one.State, err = filepath.Abs(dev.NICs(c.o.Dir, node)); err != nil {
			return err
		}
		if err := c.configure(d, one); err != nil {
			return err
		}
		if err := certify(tls, filepath.Join(d.folder, "tls"), node); err != nil {
			return err
		}
		c.agents = append(c.agents, d)
	}
	return nil
}

func (c *Cluster) configure(d daemon, s config.Simulated) error {
	if err := os.MkdirAll(d.folder, 0o755); err != nil {
		return err
	}
	text := config.Simulate(c.o.Config, s)
	return file.Replace(d.config(), text, file.How{Mode: 0o644, Volatile: true})
}

// certify makes the certificate of a node, and brings it into the node's folder.
func certify(authority, to, node string) error {
	if err := identity.IssueNode(authority, node, time.Now()); err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, name := range []string{identity.CAFile, node + ".key", node + ".crt"} {
		text, err := os.ReadFile(filepath.Join(authority, name))
		if err != nil {
			return err
		}
		if err := file.Replace(filepath.Join(to, name), text, file.How{Mode: 0o600, Volatile: true}); err != nil {
			return err
		}
	}
	return nil
}

// freeAddress is one at which no process listens now.
func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", core.Errorf(core.InternalFault, "dev: a port for a server: %w", err)
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}
