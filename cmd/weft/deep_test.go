package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestTrialIsAUsers: `weft doctor --deep` opens the services of NICs of the driver "cxi" as a user without rights. The
// server gives the VNI, and nothing is left.
func TestTrialIsAUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can become another user")
	}
	d := newDaemons(t, "2000-2009", "", "n1")
	t.Cleanup(shim.Clean)
	nics := shim.New(t, &kernel.R1401, 2, shim.Lib10)
	shim.Tree(t, nics.Sys(), &kernel.R1401, 2, "HPC")
	d.must(os.Chmod(nics.Dir, 0o755))
	d.must(os.Chmod(nics.Library(), 0o755))
	d.must(os.Chmod(filepath.Join(nics.Dir, "nic.sock"), 0o666))
	sim := "driver \"sim\" {\n  nics  = 2\n  state = \"" + d.path("n1.nic") + "\"\n  sync  = false\n}"
	d.edit("n1", sim, "driver \"cxi\" {\n  library = \""+nics.Library()+"\"\n  sysfs = \""+nics.Sys()+"\"\n}")
	d.up()
	deep := func(code int, more ...string) string {
		t.Helper()
		_ = os.Remove(d.path("deep.log"))
		args := []string{"--dir", d.path("n1"), "doctor", "--deep", "--config", d.path("n1.hcl")}
		p := d.weft("deep.log", append(args, more...)...)
		_ = p.Wait()
		said := d.log("deep")
		if got := p.ProcessState.ExitCode(); got != code {
			t.Errorf("the doctor ends with %d, want %d:\n%s", got, code, said)
		}
		return said
	}
	said := deep(0)
	for _, want := range []string{
		"NIC cxi[0-1]: a user's application can use it", "opened by nobody: device, LNI, LOW_LATENCY, BEST_EFFORT; at most ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if nics.Opener() != 65534 {
		t.Errorf("uid %d opened the services", nics.Opener())
	}
	left := func() (n int) {
		for nic := range 2 {
			nics.Do(nic, func(k *kernel.NIC) { n += len(k.Services()) - 3 + len(k.LNIs()) - 2 })
		}
		return n
	}
	if n := left(); n != 0 {
		t.Errorf("%d services and LNIs are left", n)
	}

	// A user can open a service on a NIC that libfabric leaves out.
	shim.Healthy(t, nics.Sys(), 1)
	assign := filepath.Join(nics.Sys(), "class/net/hsn1/addr_assign_type")
	d.must(os.WriteFile(assign, []byte("0\n"), 0o600))
	said = deep(2)
	for _, want := range []string{
		"critical  NIC cxi1: libfabric leaves it out: its network device has no algorithmic address (AMA)",
		"notice    NIC cxi1: a user can open a service on it; its critical finding stays",
		"good      NIC cxi0: a user's application can use it",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	d.must(os.WriteFile(assign, []byte("3\n"), 0o600))

	// Without a scheduler of type local nothing is tried. The node has no fault then.
	text, err := os.ReadFile(d.path("n1.hcl"))
	d.must(err)
	local := "scheduler \"local\" \"local\" {\n  jobs_per_user = 100\n}"
	slurm := strings.Replace(string(text), local, "scheduler \"slurm\" \"s\" {\n}", 1)
	d.must(os.WriteFile(d.path("slurm.hcl"), []byte(slurm), 0o644))
	said = deep(1, "--config", d.path("slurm.hcl"))
	if !strings.Contains(said, "warning   a trial cannot be made here") ||
		!strings.Contains(said, "no scheduler of type local") {
		t.Error(said)
	}

	// A user cannot open the device file, and a server that is away gives no VNI: the trial fails, and nothing is made.
	d.must(os.Chmod(filepath.Join(nics.Dir, "nic.sock"), 0o600))
	if said := deep(2); !strings.Contains(said, "NIC cxi[0-1]: no application can use it") ||
		strings.Contains(said, "the NICs can be used") {
		t.Error(said)
	}
	d.must(os.Chmod(nics.Library(), 0o700))
	if said := deep(2); !strings.Contains(said, "deep: device: ELIBACC: users cannot load libcxi") {
		t.Error(said)
	}
	d.kill(theServer)
	d.must(os.Chmod(nics.Library(), 0o755))
	d.until("the node has lost its session", func() (bool, string) {
		p := d.weft("doctor.log", "--dir", d.path("n1"), "doctor", "--config", d.path("n1.hcl"))
		_ = p.Wait()
		return strings.Contains(d.log("doctor"), "no session with the server"), d.log("doctor")
	})
	said = deep(1)
	if !strings.Contains(said, "warning   the NICs were not tried: no job starts without the server") || left() != 0 {
		t.Error(said)
	}
}
