package main

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/hook/rundir"
)

// frame is text as the hook's protocol frames it.
func frame(text string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
}

// TestHostileServers are servers that do everything but answer. However bad one is, the hook says one line and fails within its limit.
func TestHostileServers(t *testing.T) {
	say := func(text string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, text) }
	}
	hold := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for name, test := range map[string]struct {
		do   func(net.Conn)
		says string
		slow bool // only the limit ends it
	}{
		"hangs up":            {func(net.Conn) {}, "broke off", false},
		"says nothing":        {hold, "no answer within the time limit", true},
		"half a length":       {say("\x00\x00"), "broke off", false},
		"half an answer":      {say(frame(`{"version":1,"body":{"Exit":0}}`)[:20]), "broke off", false},
		"half, and holds":     {func(c net.Conn) { say("\x00\x00\x00\x50{\"ver")(c); hold(c) }, "no answer within the time limit", true},
		"4 GiB":               {say("\xff\xff\xff\xff{}"), "too long", false},
		"text":                {say("HTTP/1.1 200 OK\r\n\r\n"), "too long", false},
		"no JSON":             {say(frame("}{")), "not the JSON", false},
		"deep":                {say(frame(strings.Repeat("[", 100000))), "not the JSON", false},
		"another version":     {say(frame(`{"version":9,"body":{"Exit":0}}`)), "version 9", false},
		"no body":             {say(frame(`{"version":1}`)), "not the JSON", false},
		"null":                {say(frame(`{"version":1,"body":null}`)), "exit code", false},
		"empty":               {say(frame(`{"version":1,"body":{}}`)), "exit code", false},
		"no exit code":        {say(frame(`{"version":1,"body":{"Stdout":"eA=="}}`)), "exit code", false},
		"exit code 256":       {say(frame(`{"version":1,"body":{"Exit":256}}`)), "exit code", false},
		"exit code -1":        {say(frame(`{"version":1,"body":{"Exit":-1}}`)), "exit code", false},
		"an error":            {say(frame(`{"version":1,"error":{"code":"denied","reason":"x","what":"two\nlines\u001b[31m"}}`)), "two lines?[31m", false},
		"an endless error":    {say(frame(`{"version":1,"error":{"what":"` + strings.Repeat("x", 1<<20) + `"}}`)), "xxx…", false},
		"always busy":         {say(frame(`{"version":1,"again":true,"error":{"code":"unavailable","what":"calls: too many"}}`)), "calls: too many", true},
		"a byte at a time":    {drip, "no answer within the time limit", true},
		"two answers in one":  {say(frame(`{"version":1,"body":{"Exit":0}}{"version":1}`)), "not the JSON", false},
		"an answer of 5 MiB":  {say(frame(`{"version":1,"body":{"Exit":0,"Stdout":"` + strings.Repeat("A", 5<<20) + `"}}`)), "too long", false},
		"never accepts":       {nil, "no answer within the time limit", true},
		"stdout is no base64": {say(frame(`{"version":1,"body":{"Exit":0,"Stdout":"unset"}}`)), "not the JSON", false},
	} {
		for _, phase := range []string{"prolog", "taskprolog", "epilog"} {
			t.Run(name+"/"+phase, func(t *testing.T) {
				limit := 200 * time.Millisecond
				waits := test.says == "broke off" // for a server that comes back
				if !test.slow {
					limit = 12 * time.Second
					t.Parallel()
				}
				if waits {
					limit = alone
				}
				d := planned(t, limit)
				listen(t, d.Socket(phase != "taskprolog"), test.do)
				got := run(t, how{}, "--dir", string(d), "tioga", phase)
				// On a loaded machine the whole call's limit can end before the read's, which has its own words.
				said := strings.Contains(got.err, test.says) || (test.slow || waits) && strings.Contains(got.err, "it was not over within")
				if got.exit == 0 || !got.line() || !said || len(got.err) > maxLine+8 {
					t.Errorf("got %+v", got)
				}
				// Generous, for a machine that is loaded: what is shown is that the limit ends it, and nothing else does.
				if test.slow && (got.took > limit+5*time.Second || got.took < limit/2) {
					t.Errorf("it took %s with a limit of %s", got.took, limit)
				}
			})
		}
	}
}

// drip answers so slowly that each read succeeds and the whole never comes.
func drip(c net.Conn) {
	_, _ = io.WriteString(c, "\x00\x10\x00\x00")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := io.WriteString(c, " "); err != nil {
			return
		}
	}
}

// listen serves each connection with do until the test ends; nil accepts none.
func listen(t *testing.T, path string, do func(net.Conn)) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	must(t, err)
	must(t, os.Chmod(path, 0o666))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for do != nil {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			// What the caller sends is read, so that closing does not reset what it was told.
			head := make([]byte, 4)
			if _, err := io.ReadFull(c, head); err == nil {
				_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)))
				do(c)
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
}

func TestNoAgent(t *testing.T) {
	for name, at := range map[string]func(t *testing.T, path string){
		"no socket": func(*testing.T, string) {},
		"a dead socket": func(t *testing.T, path string) {
			ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			must(t, err)
			ln.SetUnlinkOnClose(false)
			must(t, ln.Close())
		},
		"a file":   func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o666)) },
		"a folder": func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) },
		"a pipe":   func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o666)) },
		"a symbolic link to a socket": func(t *testing.T, path string) {
			listen(t, path+".real", func(c net.Conn) { _, _ = io.WriteString(c, frame(`{"version":1,"body":{"Exit":0}}`)) })
			must(t, os.Symlink(path+".real", path))
		},
		"another user's socket": func(t *testing.T, path string) {
			root(t)
			listen(t, path, func(c net.Conn) { _, _ = io.WriteString(c, frame(`{"version":1,"body":{"Exit":0}}`)) })
			must(t, os.Chown(path, nobody, nobody))
		},
	} {
		for _, phase := range []string{"prolog", "taskprolog", "epilog"} {
			t.Run(name+"/"+phase, func(t *testing.T) {
				t.Parallel()
				d := planned(t, alone)
				at(t, d.Socket(phase != "taskprolog"))
				if got := run(t, how{}, "--dir", string(d), "tioga", phase); got.exit == 0 || !got.line() {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

func TestTheEnvironmentSaysNothingOfPaths(t *testing.T) {
	d := planned(t, patient)
	listen(t, d.UsersSocket(), func(c net.Conn) { _, _ = io.WriteString(c, frame(`{"version":1,"body":{"Exit":0}}`)) })
	env := []string{"JOB_ID=7"}
	for _, name := range []string{"WEFT_DIR", "WEFT_RUNDIR", "RUNDIR", "RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR", "TMPDIR", "HOME"} {
		env = append(env, name+"="+string(d))
	}
	if _, err := os.Lstat(rundir.Default); err == nil {
		t.Skip("an agent has a run directory on this machine")
	}
	if got := run(t, how{env: env}, "tioga", "taskprolog"); got.exit == 0 || !got.line() || !strings.Contains(got.err, rundir.Default) {
		t.Errorf("got %+v", got)
	}
}

func TestItIsSmallAndStandsAlone(t *testing.T) {
	const most = 4 << 20
	info, err := os.Stat(program)
	must(t, err)
	t.Logf("%d bytes", info.Size())
	if info.Size() >= most {
		t.Errorf("it has %d bytes and may have %d", info.Size(), most)
	}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	must(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		rel, ours := strings.CutPrefix(path, "github.com/weft-hpc/weft/")
		top, _, _ := strings.Cut(rel, "/")
		if !ours || rel != "core" && rel != "cmd/weft-hook" && top != "hook" && top != "file" {
			t.Errorf("it is linked with %s", path)
		}
	}
	// What the standard library's packages import of each other, no rule sees.
	list := exec.Command("go", "list", "-deps", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	all, err := list.Output()
	must(t, err)
	for path := range strings.FieldsSeq(string(all)) {
		if path == "net" || strings.HasPrefix(path, "net/") || strings.HasPrefix(path, "log") {
			t.Errorf("it is linked with %s, whose start costs every job", path)
		}
	}
	text, err := os.ReadFile(program)
	must(t, err)
	if strings.Contains(string(text), "ld-linux") {
		t.Error("it needs a dynamic linker")
	}
}
