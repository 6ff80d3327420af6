package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestReportFile: `weft doctor --report` writes a file that names no user and no host, for root's eyes. It leaves the
// NIC as it was, and needs no agent.
func TestReportFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root may make services")
	}
	t.Cleanup(shim.Clean)
	nics := shim.New(t, &kernel.R1401, 2, shim.Lib10)
	dir := t.TempDir()
	configure := func(pool string) string {
		t.Helper()
		path := filepath.Join(dir, "config.hcl")
		text := fmt.Sprintf("nodes = \"n1\"\npolicy = \"policy\"\npool \"jobs\" {\n  vnis = %q\n}\n"+
			"scheduler \"local\" \"local\" {\n}\ndriver \"cxi\" {\n  library = %q\n  sysfs = %q\n}\n",
			pool, nics.Library(), nics.Sys())
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	weft, err := exec.LookPath("weft")
	if err != nil {
		t.Fatal(err)
	}
	report := func(code int, pool, file string, more ...string) string {
		t.Helper()
		args := append([]string{"doctor", "--config", configure(pool), "--report", file, "--nic", "cxi0"}, more...)
		c := exec.Command(weft, args...)
		c.Args[0] = "weft"
		said, _ := c.CombinedOutput()
		if got := c.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: it ends with %d, want %d:\n%s", args, got, code, said)
		}
		return string(said)
	}
	file := filepath.Join(dir, "report.json")
	said := report(0, "1024-65535", file)
	all := regexp.MustCompile(`^\d+ of \d+ trials are as the sources of SHS 14\.0\.1 say; .*json has all of them\n$`)
	if !all.MatchString(said) {
		t.Errorf("it says %q", said)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	text, _ := os.ReadFile(file)
	var r cxi.Report
	if err := json.Unmarshal(text, &r); err != nil || r.Format != cxi.ReportFormat || r.Kernel == "" || len(r.Rows) < 40 {
		t.Errorf("%v: %s", err, text)
	}
	host, _ := os.Hostname()
	for _, private := range []string{host, "02:00:00", dir, nics.Dir} {
		if strings.Contains(string(text), private) {
			t.Errorf("it has %q:\n%s", private, text)
		}
	}
	nics.Do(0, func(k *kernel.NIC) {
		if len(k.Services()) != 3 {
			t.Errorf("%d services are left", len(k.Services())-3)
		}
	})

	if said := report(1, "1024-65535", file); !strings.Contains(said, "file exists") {
		t.Errorf("over another file it says %q", said)
	}
	other := filepath.Join(dir, "other.json")
	if said := report(2, "11-65535", other); !strings.Contains(said, "leave no block of 32 VNIs") {
		t.Errorf("without a spare VNI it says %q", said)
	}
	nics.Do(0, func(k *kernel.NIC) {
		d := kernel.Desc{
			RestrictedMembers: true, RestrictedVNIs: true, NumVNIs: 1, VNIs: [4]uint16{4034},
			Members: [2]kernel.Member{{ID: 7, Type: kernel.UID}},
		}
		if _, _, err := k.Alloc(kernel.Root, &d); err != kernel.OK {
			t.Fatal(err)
		}
	})
	if said := report(1, "1024-65535", other); !strings.Contains(said, "service 4 is of a job") ||
		!strings.Contains(said, "`cxi_service delete -d cxi0 -s 4` removes it if it is left from a report") {
		t.Errorf("with a job it says %q", said)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a report that failed left a file")
	}
	report(0, "1024-65535", other, "--with-jobs")

	nics.Set(func(s *shim.State) {
		s.Refuse(func(op string) kernel.Errno {
			if op == "set lpr" {
				return kernel.EIO
			}
			return kernel.OK
		})
	})
	said = report(1, "1024-65535", filepath.Join(dir, "third.json"), "--with-jobs")
	if !strings.Contains(said, "lpr: 8: EIO, and the sources of SHS 14.0.1 say 8\n") {
		t.Errorf("of a NIC that differs it says %q", said)
	}
}

// TestReportOfALostTerminal: the signals of a terminal that is lost end a report, and its services are removed.
func TestReportOfALostTerminal(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root may make services")
	}
	t.Cleanup(shim.Clean)
	for _, lost := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT} {
		nics := shim.New(t, &kernel.R1401, 1, shim.Lib10)
		config := filepath.Join(nics.Dir, "config.hcl")
		text := fmt.Sprintf("nodes = \"n1\"\npolicy = \"policy\"\npool \"jobs\" {\n  vnis = \"1024-65535\"\n}\n"+
			"scheduler \"local\" \"local\" {\n}\ndriver \"cxi\" {\n  library = %q\n  sysfs = %q\n}\n",
			nics.Library(), nics.Sys())
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		pid, allocs := make(chan int, 1), 0
		nics.Set(func(s *shim.State) {
			s.Tamper(func(op string, _ []byte) {
				if op == "alloc" {
					if allocs++; allocs == 5 {
						_ = syscall.Kill(<-pid, lost)
					}
				}
			})
		})
		file := filepath.Join(nics.Dir, "report.json")
		c := exec.Command("weft", "doctor", "--config", config, "--report", file, "--nic", "cxi0")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pid <- c.Process.Pid
		_ = c.Wait()
		if !c.ProcessState.Exited() {
			t.Errorf("%v kills the report", lost)
		}
		nics.Do(0, func(k *kernel.NIC) {
			if n := len(k.Services()) - 3; n != 0 || allocs < 5 {
				t.Errorf("after %v at %d services, %d are left", lost, allocs, n)
			}
		})
		if _, err := os.Stat(file); (err == nil) != c.ProcessState.Success() {
			t.Errorf("after %v, the report ends with %v, and its file: %v", lost, c.ProcessState, err)
		}
	}
}
