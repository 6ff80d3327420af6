package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// DefaultConfig is where a site's configuration lies.
const DefaultConfig = "/etc/weft/config.hcl"

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
