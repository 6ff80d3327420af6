package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// prefixVariable names the prefix of the Slurm under trial, such as /opt/slurm. Where it is empty, PATH has that Slurm.
const prefixVariable = "WEFT_SLURM"

// slurmPrefix is where the Slurm under trial is installed; empty: where Debian has it.
var slurmPrefix = os.Getenv(prefixVariable)

// searchPath is the PATH of the cluster's daemons and commands.
func searchPath() string {
	const system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	if slurmPrefix == "" {
		return system
	}
	return filepath.Join(slurmPrefix, "sbin") + ":" + filepath.Join(slurmPrefix, "bin") + ":" + system
}

// choose has the tests themselves find the programs of the Slurm under trial.
func choose() error {
	if slurmPrefix == "" {
		return nil
	}
	if !filepath.IsAbs(slurmPrefix) {
		return fmt.Errorf("%s=%s: it is no absolute path", prefixVariable, slurmPrefix)
	}
	return os.Setenv("PATH", searchPath()+":"+os.Getenv("PATH"))
}

// find is the path of a program of Slurm or of munge. It takes no program of another installation.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil && slurmPrefix != "" && program != theMunge && !strings.HasPrefix(path, slurmPrefix+"/") {
		return "", fmt.Errorf("%s: %s has no %s", prefixVariable, slurmPrefix, program)
	}
	return path, err
}

// commandsFolder is the adapter's `bin`.
func commandsFolder() string {
	path, _ := find("squeue")
	return filepath.Dir(path)
}

// include is the folder of slurm/spank.h.
func include() string {
	if slurmPrefix == "" {
		return "/usr/include"
	}
	return filepath.Join(slurmPrefix, "include")
}
