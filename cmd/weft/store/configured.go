package store

import (
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
)

// configured is the store that a configuration names.
func configured(path string) (place, error) {
	site, err := cli.LoadOwn(path)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	if site.Server.Etcd != nil {
		return etcdAt(*site.Server.Etcd)
	}
	if site.Server.Store == config.MemoryStore {
		return nil, core.Errorf(core.NotSupported, "configuration %s: its server's store is in memory", core.Clip(path)).
			WithRemedy("name a file as `store` of the server in config.hcl")
	}
	return fileAt(site.Server.Store)
}
