package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-hpc/weft/dev/effort"
)

// patience is how long something may take that has to come. Nothing waits that long when all is well.
const patience = 3 * time.Minute

// bin holds the binaries under trial, built once.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// together is how many systems run at once, unless -parallel says. They wait more than they work.
const together = 6

func run(m *testing.M) int {
	effort.Together(together)
	if err := choose(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "weft-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if err := os.Chmod(dir, 0o755); err != nil { // users run weft, too
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if effort.Full() && len(missing()) == 0 {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", dir+string(filepath.Separator), "../cmd/...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// needed are the programs of a Slurm cluster.
var needed = []string{"munged", "slurmctld", "slurmd", "srun", "sbatch", "salloc", "squeue", "scontrol", "scancel", "sinfo"}

// missing is what these tests cannot do without and this machine lacks.
func missing() []string {
	var lacks []string
	if os.Geteuid() != 0 {
		lacks = append(lacks, "root")
	}
	for _, p := range needed {
		if _, err := find(p); err != nil {
			lacks = append(lacks, p)
		}
	}
	return lacks
}

// needSlurm skips a test where there is no Slurm to try.
func needSlurm(t testing.TB) {
	t.Helper()
	effort.NeedFull(t)
	if lacks := missing(); len(lacks) > 0 {
		t.Skipf("a real Slurm: this machine has no %v; `make test-deps` installs it", lacks)
	}
}
