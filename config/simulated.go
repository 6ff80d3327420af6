package config

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/hclfile"
)

// Simulated is a daemon of a system of simulated nodes, whose configuration Simulate writes.
type Simulated struct {
	Policy     string        // absolute path of its folder
	Quarantine time.Duration // of every pool and service; 0: the file's
	NICs       int           // a node
	State      string        // folder of the NICs, an absolute path; empty: none
	Server     Server        // of which Name, Listen, Socket, Etcd and TLS are written; a zero Name: none
	Agent      Agent         // of which Servers, Dir and TLS are written; no Servers: none
}

// Simulate is a file without the scheduler's and driver's blocks that simulated nodes cannot serve, and with the blocks
// of one daemon. The file must be one that Parse takes.
func Simulate(source hclfile.Source, d Simulated) []byte {
	f, _ := hclwrite.ParseConfig(source.Text, source.Name, hcl.InitialPos)
	body := f.Body()
	body.SetAttributeValue("policy", cty.StringVal(d.Policy))
	var local, driver *hclwrite.Block
	for _, b := range body.Blocks() {
		labels := append(b.Labels(), "")
		switch kind := b.Type(); {
		case kind == kindScheduler && labels[0] == "local":
			local = b
		case kind == kindDriver && labels[0] == "sim":
			driver = b
		case slices.Contains([]string{kindScheduler, kindDriver, "server", "agent"}, kind):
			body.RemoveBlock(b)
		case d.Quarantine > 0 && (kind == "pool" || kind == "service"):
			b.Body().SetAttributeValue("quarantine", cty.StringVal(d.Quarantine.String()))
		}
	}
	if local == nil {
		body.AppendNewBlock(kindScheduler, []string{"local", "local"})
	}
	if driver == nil {
		driver = body.AppendNewBlock(kindDriver, []string{"sim"})
	}
	sim := driver.Body()
	sim.SetAttributeValue("nics", cty.NumberIntVal(int64(d.NICs)))
	setTexts(sim, "state", d.State)
	sim.SetAttributeValue("sync", cty.False)
	sim.SetAttributeValue("in_process", cty.True)
	if d.Server.Name != "" {
		server := body.AppendNewBlock("server", nil).Body()
		setTexts(server, "name", d.Server.Name, "listen", d.Server.Listen, "socket", d.Server.Socket, "tls", d.Server.TLS,
			"admin_group", d.Server.AdminGroup)
		etcd := server.AppendNewBlock("etcd", nil).Body()
		etcd.SetAttributeValue("endpoints", listed(d.Server.Etcd.Endpoints))
		setTexts(etcd, "prefix", d.Server.Etcd.Prefix, "lease", d.Server.Etcd.Lease.String())
	}
	if d.Agent.Servers != nil {
		agent := body.AppendNewBlock("agent", nil).Body()
		agent.SetAttributeValue("servers", listed(d.Agent.Servers))
		setTexts(agent, "dir", d.Agent.Dir, "tls", d.Agent.TLS)
	}
	return f.Bytes()
}

// setTexts sets attributes, name by name, that have a value.
func setTexts(body *hclwrite.Body, pairs ...string) {
	for p := range slices.Chunk(pairs, 2) {
		if p[1] != "" {
			body.SetAttributeValue(p[0], cty.StringVal(p[1]))
		}
	}
}

func listed(items []string) cty.Value {
	out := make([]cty.Value, len(items))
	for i, s := range items {
		out[i] = cty.StringVal(s)
	}
	return cty.ListVal(out)
}
