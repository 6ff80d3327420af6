package hook

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// Suspended time counts: of the clocks of a time namespace, only CLOCK_BOOTTIME is ahead here.
func TestBoottimeCountsSuspendedTime(t *testing.T) {
	const ahead, env = 1e6, "WEFT_TEST_BOOTTIME"
	if before, err := strconv.ParseInt(os.Getenv(env), 10, 64); err == nil {
		if now := Boottime(); now-before < ahead*1e9 {
			t.Errorf("from %d to %d ns suspended time does not count", before, now)
		}
		return
	}
	unshare := []string{"--time", "--boottime", fmt.Sprint(int(ahead))}
	if err := exec.Command("unshare", append(unshare, "true")...).Run(); err != nil {
		t.Skip("this process can make no time namespace: ", err)
	}
	cmd := exec.Command("unshare", append(unshare, os.Args[0], "-test.run=^"+t.Name()+"$")...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", env, Boottime()))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
