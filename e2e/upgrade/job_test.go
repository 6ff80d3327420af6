package upgrade

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// task is a process that `weft run` made a job.
type task struct {
	cmd             *exec.Cmd
	stdin           io.Closer
	errs            bytes.Buffer
	vnis, ids, name string
}

// begin runs a job on a node by the `weft` of a release. It lives until finish. The error says why it did not start.
func (s *system) begin(node, weft string) (*task, error) {
	script := `echo "$SLINGSHOT_VNIS $SLINGSHOT_SVC_IDS $WEFT_JOB"; exec cat`
	k := &task{cmd: exec.Command(weft, "--dir", string(s.run(node)), "run", "--", "sh", "-c", script)}
	k.cmd.Stderr = &k.errs
	var err error
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, err
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if n, _ := fmt.Sscan(line, &k.vnis, &k.ids, &k.name); n != 3 {
		k.finish()
		return nil, fmt.Errorf("a job on %s was not started: %q %s", node, line, k.errs.Bytes())
	}
	return k, nil
}

func (s *system) mustBegin(node, weft string) *task {
	s.t.Helper()
	k, err := s.begin(node, weft)
	must(s.t, err)
	s.t.Cleanup(k.finish)
	return k
}

// granted begins a job once the server grants: a lost store puts all VNIs into quarantine first.
func (s *system) granted(node, weft string) (k *task) {
	s.t.Helper()
	s.until("the server grants", func() (ok bool, seen string) {
		var err error
		k, err = s.begin(node, weft)
		return err == nil, fmt.Sprint(err)
	})
	s.t.Cleanup(k.finish)
	return k
}

// finish ends the job's process. A second call does nothing.
func (k *task) finish() {
	k.stdin.Close()
	_ = k.cmd.Wait()
}

// owner is the user of the jobs of scheduler "files".
const owner = 30001

// submit starts a job of scheduler "files" on nodes: its file says that it runs.
func (s *system) submit(nodes ...string) (name string) {
	s.t.Helper()
	name = strconv.FormatUint(s.jobs.Add(1), 10)
	must(s.t, os.WriteFile(s.path("jobs", "."+name), fmt.Appendf(nil, "%d %s", owner, strings.Join(nodes, ",")), 0o644))
	must(s.t, os.Rename(s.path("jobs", "."+name), s.path("jobs", name)))
	return name
}

// over ends a job of scheduler "files" for its scheduler. Its epilogs are the caller's.
func (s *system) over(name string) {
	s.t.Helper()
	must(s.t, os.Remove(s.path("jobs", name)))
}

// hook runs the weft-hook of a release for a job on a node; a prolog gives the job's VNIs.
func (s *system) hook(node, weftHook, phase, name string) (vnis string, err error) {
	c := exec.Command(weftHook, "--dir", string(s.run(node)), "files", phase)
	run := core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "files", Job: name}}}
	run.UID = owner
	in, err := json.Marshal(run)
	if err != nil {
		return "", err
	}
	var said bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(in), &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s of job %s on %s: %w: %s", phase, name, node, err, said.Bytes())
	}
	for line := range strings.Lines(string(out)) {
		if v, ok := strings.CutPrefix(line, "SLINGSHOT_VNIS="); ok {
			vnis = strings.TrimSpace(v)
		}
	}
	return vnis, nil
}

// only gives the services that carry these VNIs.
func only(all []core.Service, vnis string) (some []core.Service) {
	for _, one := range all {
		if core.FormatVNIs(one.VNIs) == vnis {
			some = append(some, one)
		}
	}
	return some
}
