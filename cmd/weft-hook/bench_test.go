package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// client is the least that a Go program can do which opens a socket and closes it.
const client = `package main

import (
	"net"
	"os"
)

func main() {
	c, err := net.Dial("unix", os.Args[1])
	if err != nil {
		os.Exit(1)
	}
	c.Close()
}
`

// BenchmarkExec is from exec to exit, beside programs that do nothing. The budget is 2 ms for a call of an idle listener.
func BenchmarkExec(b *testing.B) {
	d := planned(b, patient)
	leave(b, d, "7", uint32(os.Getuid()), exports)
	answer := func(context.Context, core.Peer, hook.Request) (any, error) {
		return core.HookReply{Stdout: []byte(exports)}, nil
	}
	serve(b, d.RootSocket(), 0o600, listener.Root(), answer)
	source := filepath.Join(b.TempDir(), "main.go")
	must(b, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	nothing := filepath.Join(b.TempDir(), "nothing")
	must(b, build(nothing, source))
	must(b, os.WriteFile(source, []byte(client), 0o600))
	socket := filepath.Join(b.TempDir(), "socket")
	must(b, build(socket, source))
	out, err := os.Create(filepath.Join(b.TempDir(), "out"))
	must(b, err)
	defer out.Close()
	call := []string{program, "--dir", string(d), "tioga", "prolog"}
	file := []string{program, "--dir", string(d), "tioga", "taskprolog"}
	for _, p := range []struct {
		name string
		args []string
		env  []string
	}{
		{"true", []string{"/bin/true"}, nil},
		{"nothing-in-go", []string{nothing}, nil},
		{"socket-in-go", []string{socket, d.RootSocket()}, nil},
		{"call", call, nil},
		{"file", file, nil},
		// Go's runtime makes ready for every processor as it starts. Hook files spare weft-hook that; what a node with many of them would cost is beside.
		{"call-on-one-processor", call, []string{"GOMAXPROCS=1"}},
		{"file-on-one-processor", file, []string{"GOMAXPROCS=1"}},
		{"call-on-256-processors", call, []string{"GOMAXPROCS=256"}},
	} {
		b.Run(p.name, func(b *testing.B) {
			var processor time.Duration
			var faults int64
			least := time.Hour
			for b.Loop() {
				cmd := exec.Command(p.args[0], p.args[1:]...)
				cmd.Env, cmd.Stdout = append([]string{"JOB_ID=7"}, p.env...), out
				began := time.Now()
				must(b, cmd.Run())
				least = min(least, time.Since(began))
				faults += cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt
				processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(faults)/float64(b.N), "page-faults/op")
			// These two still mean something on a machine that does other work beside.
			b.ReportMetric(float64(least.Microseconds()), "least-us")
			b.ReportMetric(float64(processor.Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
	b.Run("file-192-at-once", func(b *testing.B) {
		for b.Loop() {
			tasks := make([]*exec.Cmd, 192)
			for i := range tasks {
				tasks[i] = exec.Command(program, "--dir", string(d), "tioga", "taskprolog")
				tasks[i].Env, tasks[i].Stdout = []string{"JOB_ID=7"}, out
				must(b, tasks[i].Start())
			}
			for _, t := range tasks {
				must(b, t.Wait())
			}
		}
	})
}
