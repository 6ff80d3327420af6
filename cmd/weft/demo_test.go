package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestDemo plays the whole story as a newcomer would see it in a file. The demo checks itself; this test checks its words.
func TestDemo(t *testing.T) {
	t.Parallel()
	weft, err := exec.LookPath("weft")
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	cmd := exec.Command(weft, "demo", "--config", "../../config.hcl")
	cmd.Env = append(cmd.Environ(), "TMPDIR="+tmp, "SLINGSHOT_VNIS=4034") // stale, as if this ran in a job
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("weft demo: %v\n%s%s", err, &out, &errs)
	}
	if errs.Len() > 0 {
		t.Errorf("standard error has %q", &errs)
	}
	if i := strings.IndexByte(out.String(), 0x1b); i >= 0 {
		t.Errorf("there are codes of a terminal in a file: %q", out.String()[i:min(i+20, out.Len())])
	}
	checkPicture(t, out.String())
	told := out.String()
	for _, want := range []string{
		"1. A system of simulated nodes",
		"2. Two users' jobs run side by side, each fenced off",
		"n1  SLINGSHOT_VNIS=1024\n",
		"n2  SLINGSHOT_VNIS=1025\n",
		"3. A job that asks for more than policy allows costs no node",
		"DEDICATED_ACCESS needs membership of group ops",
		"4. A NIC fails under a job",
		"No service of it is left on any node.",
		"5. A job is killed while an application still uses its service",
		"draining",
		"quarantined",
		"6. The server stops in the middle, and starts again",
		"7. Every VNI is accounted for",
		"reservations: none",
		"all are free again. No service is left on any NIC.",
	} {
		i := strings.Index(told, want)
		if i < 0 {
			t.Fatalf("the story does not tell, or not in its place: %q\n%s", want, &out)
		}
		told = told[i:]
	}
	if strings.Contains(out.String(), "4034") {
		t.Error("a stale value of the shell reached a job")
	}
	if left, _ := exec.Command("ls", "-A", tmp).Output(); len(left) > 0 {
		t.Errorf("it left %s", left)
	}
}
