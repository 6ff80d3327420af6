package hook

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

func TestEveryCodeCrosses(t *testing.T) {
	for c := core.Invalid; c <= core.Internal; c++ {
		if got := NewFault(&core.Error{Code: c, What: "x"}).Err().Code; got != c {
			t.Errorf("%v became %v", c, got)
		}
	}
}

// TestHostileDaemon calls daemons that do everything but answer.
func TestHostileDaemon(t *testing.T) {
	reply := func(s string) func(net.Conn) {
		return func(c net.Conn) { _, _ = c.Write([]byte(s)) }
	}
	for name, test := range map[string]struct {
		do   func(net.Conn)
		want core.Reason
		says string
	}{
		"hangs up":       {func(net.Conn) {}, core.ServerAway, "without an answer"},
		"half a length":  {reply("\x00\x00"), core.ServerAway, "middle of its answer"},
		"half an answer": {reply("\x00\x00\x00\x10{\"ver"), core.ServerAway, "middle of its answer"},
		"4 GiB":          {reply("\xff\xff\xff\xff{}"), core.InternalFault, "4294967295 bytes"},
		"text":           {reply("HTTP/1.1 400 Bad Request\r\n\r\n"), core.InternalFault, "too long"},
		"garbage":        {reply("\x00\x00\x00\x04}{}{"), core.InternalFault, "not the JSON"},
		"trailing data":  {reply("\x00\x00\x00\x0f{\"version\":1}{}"), core.InternalFault, "not the JSON"},
		"other version":  {reply("\x00\x00\x00\x0d{\"version\":9}"), core.BadVersion, "version 9"},
		"silent": {func(c net.Conn) {
			var b [1 << 12]byte
			for {
				if _, err := c.Read(b[:]); err != nil {
					return
				}
			}
		}, core.TimedOut, "time limit"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir(t), "server.sock")
			ln, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				c, err := ln.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				if name != "silent" {
					_, _ = ReadFrame(c, MaxRequest)
				}
				test.do(c)
			}()
			patience := 30 * time.Second
			if name == "silent" {
				patience = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err = Call(ctx, path, "status", nil, nil)
			ln.Close()
			<-done
			checkError(t, err, test.want, test.says)
		})
	}
}

func checkError(t *testing.T, err error, want core.Reason, says string) {
	t.Helper()
	e, ok := errors.AsType[*core.Error](err)
	if !ok || e.Reason != want || !strings.Contains(e.What, says) || strings.ContainsRune(e.Line(), '\n') {
		t.Errorf("got %#v, want one line of %s that says %q", err, want, says)
	}
}

func TestPathsThatNobodyCanTrust(t *testing.T) {
	d := dir(t)
	at := func(name string) string { return filepath.Join(d, name) }
	live, err := net.Listen("unix", at("live"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if err := os.Symlink(at("live"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: at("server.dead"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	for name, test := range map[string]struct {
		path string
		want core.Reason
		says string
	}{
		"none":    {at("server.sock"), core.ServerAway, "there is no socket"},
		"under":   {at("file/sock"), core.ServerAway, "there is no socket"},
		"link":    {at("link"), core.NotAllowed, "symbolic link"},
		"file":    {at("file"), core.NotAllowed, "no socket"},
		"folder":  {d, core.NotAllowed, "no socket"},
		"dead":    {at("server.dead"), core.ServerAway, "nobody listens"},
		"long":    {"/" + strings.Repeat("x", MaxPath), core.BadCall, "108 bytes"},
		"empty":   {"", core.BadCall, "no path"},
		"unnamed": {"@weft", core.BadCall, "no path"},
	} {
		t.Run(name, func(t *testing.T) {
			checkError(t, Call(t.Context(), test.path, "status", nil, nil), test.want, test.says)
		})
	}
	if e := core.AsError(Call(t.Context(), at("server.sock"), "status", nil, nil)); !strings.Contains(e.Line(), "start `weft server`") {
		t.Errorf("%q does not say what to start", e.Line())
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(at("live"), 4711, 4711); err != nil {
			t.Fatal(err)
		}
		checkError(t, Call(t.Context(), at("live"), "status", nil, nil), core.NotAllowed, "neither to root")
		checkError(t, checkSocket(at("live"), 4712), core.NotAllowed, "neither to root")
		if err := checkSocket(at("live"), 4711); err != nil {
			t.Errorf("its owner may: %v", err)
		}
	}
}

func TestCallTooLong(t *testing.T) {
	checkError(t, Call(t.Context(), "/nowhere", "status", strings.Repeat("x", MaxRequest), nil), core.BadCall, "too long")
}
