package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hclfile"
)

// DefaultConfig is where a site's configuration lies.
const DefaultConfig = "/etc/weft/config.hcl"

// LoadOwn reads the configuration of a driver that this process runs itself. It names a library, which is root's code as
// soon as root loads it. So root reads no configuration that another user can change. The error is BadConfig.
func LoadOwn(path string) (*config.Config, error) {
	if os.Geteuid() == 0 {
		if d := file.Trust(path); d != nil {
			return nil, core.Errorf(core.BadConfig, "the configuration: %w", d).WithRemedy(d.Remedy)
		}
	}
	site, findings := config.Load(path)
	if hclfile.Failed(findings) {
		return nil, config.AsError(findings)
	}
	return site, nil
}

// ConfigFlag is the flag of the verbs that read the configuration themselves, without a server.
type ConfigFlag struct {
	Config string
}

func (a *ConfigFlag) Flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.Config, "config", "",
		"configuration with the pools, services, schedulers and nodes (default: config.hcl here, then "+DefaultConfig+")")
}

// Path is the configuration that is meant: where nobody named another, that of this folder, as with `weft dev`, and else that of the daemons.
func (a *ConfigFlag) Path() string {
	if a.Config != "" {
		return a.Config
	}
	if _, err := os.Stat("config.hcl"); !errors.Is(err, fs.ErrNotExist) {
		return "config.hcl"
	}
	return DefaultConfig
}
