package stack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// Settings are the keys of slurm.conf without which Slurm's commands may not start.
func Settings() []string {
	return []string{"PluginDir", "AuthType", "AuthInfo", "HashPlugin", "TLSType", "SlurmUser"}
}

// proof is the command that loads the stack before it looks at its arguments (main, sbatch.c, 22.05 to 26.05).
const proof = "sbatch"

// Prove proves that the Slurm with commands in bin loads the plugin at path. It has sbatch load a stack of that plugin
// alone, and print its release. lines are those of slurm.conf that Settings names. It asks no daemon.
func Prove(ctx context.Context, bin, path string, lines []string) (Release, error) {
	dir, err := os.MkdirTemp("", "weft-stack-")
	if err != nil {
		return 0, core.Errorf(core.BadConfig, "%w", err)
	}
	defer os.RemoveAll(dir)
	conf, stack := filepath.Join(dir, "slurm.conf"), filepath.Join(dir, "plugstack.conf")
	lines = append(lines, "ClusterName=weft", "SlurmctldHost=localhost", "NodeName=localhost",
		"PlugStackConfig="+stack, "")
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return 0, core.Errorf(core.BadConfig, "%w", err)
	}
	run := command.Programs{
		Whose: "Slurm's", Folder: bin, Env: []string{"SLURM_CONF=" + conf},
		Remedy: "name the folder of Slurm's commands: --bin, or `bin` in config.hcl",
	}.Runner()
	load := func(plugin string) (string, error) {
		if err := os.WriteFile(stack, []byte("required "+plugin+"\n"), 0o600); err != nil {
			return "", core.Errorf(core.BadConfig, "%w", err)
		}
		out, err := run(ctx, proof, "--version")
		return string(out), err
	}
	// A command that reads no stack would accept everything.
	var no *command.Failure
	switch _, err := load(filepath.Join(dir, "none.so")); {
	case err == nil:
		return 0, core.Errorf(core.BadConfig, "%s/%s: it accepts a missing plugin, so it proves nothing",
			bin, proof)
	case !errors.As(err, &no):
		return 0, err
	}
	out, err := load(path)
	if errors.As(err, &no) {
		return 0, core.Errorf(core.BadConfig, "%s: %s/%s does not load it: %s", path, bin, proof, why(no.Says))
	}
	if err != nil {
		return 0, err
	}
	r := ParseRelease(out)
	if r == 0 {
		return 0, core.Errorf(core.BadConfig, "%s/%s: it does not tell its release: %q", bin, proof, core.Clip(out))
	}
	return r, nil
}

// why is the first line of the command's message. The others repeat it.
func why(says string) string {
	says = strings.TrimPrefix(says, proof+": ")
	says = strings.TrimPrefix(says, "error: ")
	first, _, _ := strings.Cut(says, " "+proof+": ")
	return first
}
