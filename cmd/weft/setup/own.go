package setup

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// ownSite is config.hcl. Without --config it is nil where it cannot be read, or where another user could change it.
func ownSite(file *cli.ConfigFlag) (*config.Config, error) {
	site, err := cli.LoadOwn(file.Path())
	if err != nil && file.Config == "" {
		return nil, nil //nolint:nilnil // a host may have none
	}
	return site, err
}

// labelled refuses a scheduler that config.hcl lacks: each hook would fail.
func labelled(p *plan.Plan, site *config.Config, kind, label string) {
	if site == nil {
		return
	}
	var labels []string
	for _, s := range site.Schedulers {
		if s.Type == kind {
			labels = append(labels, s.Name)
		}
	}
	remedy := "name one of: " + strings.Join(labels, ", ")
	switch {
	case slices.Contains(labels, label) || label == kind && len(labels) == 1:
		return
	case len(labels) == 0:
		remedy = fmt.Sprintf("declare it there, as scheduler %q %q { }; or give --config", kind, label)
	}
	p.Add(plan.Refusal, "--scheduler", remedy, "%s has no scheduler %q of type %s", site.File, label, kind)
}

// blockOf gives flags that are not set the values of Slurm's block in config.hcl. observed: the block has
// `mode = "observe"`.
func blockOf(
	cmd *cobra.Command, site *config.Config, scheduler string, flags map[string]*string,
) (observed bool) {
	if site == nil {
		return false
	}
	found := 0
	for _, p := range site.Schedulers {
		if p.Type != "slurm" || scheduler != "" && scheduler != p.Name && scheduler != p.Type {
			continue
		}
		if found++; found > 1 { // the first one's commands; which one is meant is not known
			return false
		}
		observed = p.Observe
		values, _ := p.Decode(slurm.New(p.Name).Schema())
		for name, to := range flags {
			if text, ok := values[name].(string); ok && filepath.IsAbs(text) && !cmd.Flags().Changed(name) {
				*to = text
			}
		}
	}
	return observed
}

// anyUser acts for a job's user: it has none of root's rights.
const anyUser = 65534

// runsAsUser runs weft-hook as TaskProlog does: a mode or a mount that only root gets past ends each task.
func runsAsUser(ctx context.Context, p *plan.Plan, hook string) {
	if os.Geteuid() != 0 {
		p.Add(plan.Warning, "user", "run this as root",
			"only root can run Slurm's commands as the Weft server does, and weft-hook as a job's user")
		return
	}
	if _, err := os.Stat(hook); err != nil {
		return // the plan refuses it already
	}
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, hook, "--version")
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: anyUser, Gid: anyUser}}
	if err := cmd.Run(); err != nil {
		p.Add(plan.Refusal, "weft-hook", "look at its mode, at that of each folder above it, and for noexec among the mounts",
			"%s does not run as a job's user: %v", hook, err)
		return
	}
	p.Add(plan.Fine, "weft-hook", "", "it runs as a job's user")
}
