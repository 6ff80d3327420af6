package host

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
)

// The numbered tests show that what go-plugin 1.8 was seen to do wrong does not happen here.

// 1: a SecureConfig used twice fails at the second start.
func TestPitfall1AChecksumHoldsAtEveryStart(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet(func(spec *Spec) { spec.Program = s.copied(spec.Program) })
	for range 3 {
		before := s.pid(p)
		if _, err := do(t.Context(), p, "exit"); err == nil {
			t.Fatal("it did not exit")
		}
		if s.pid(p) == before {
			t.Fatal("it is the same process")
		}
	}
	path := p.spec.Program.Path
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, _ = do(t.Context(), p, "exit")
	if got := s.await(p, "failed", func(s Status) bool { return s.State == Failed }); !strings.Contains(got.Why, "sha256") {
		t.Errorf("another file under its name: %s", got.Why)
	}
}

// copied is the program as a third party's file with its sum.
func (s *stage) copied(p Program) Program {
	s.t.Helper()
	text, err := os.ReadFile(self)
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.t.TempDir(), "puppet")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		s.t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return Program{Path: path, Env: p.Env, SHA256: hex.EncodeToString(sum[:])}
}

// 2: sockets land in /tmp, where systemd-tmpfiles ages them out, and a killed plugin leaves its own behind.
func TestPitfall2SocketsLieInAPrivateFolderThatIsEmptied(t *testing.T) {
	before := inTmp(t)
	s := newStage(t, quick)
	p := s.puppet()
	folder := filepath.Join(s.dir, "driver-puppet")
	first := sockets(t, folder)
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 || len(first) != 1 {
		t.Fatalf("%v %v, sockets %v", info.Mode(), err, first)
	}
	if _, err := do(t.Context(), p, "exit"); err == nil {
		t.Fatal("it did not exit")
	}
	s.pid(p)
	if again := sockets(t, folder); len(again) != 1 || again[0] == first[0] {
		t.Errorf("after a restart: %v, before %v", again, first)
	}
	if now := inTmp(t); len(now) > len(before) {
		t.Errorf("in the machine's folder: %v, before %v", now, before)
	}
}

func inTmp(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "plugin*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sockets(t *testing.T, folder string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type()&os.ModeSocket != 0 {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// 3: a plugin sees the daemon's whole environment, which overrides its own.
func TestPitfall3TheEnvironmentIsClean(t *testing.T) {
	t.Setenv("SLURM_JWT", "secret")
	t.Setenv(actAs, "")
	s := newStage(t, quick)
	p := s.puppet()
	text, err := do(t.Context(), p, "env")
	if err != nil {
		t.Fatal(err)
	}
	var env, names []string
	if err := json.Unmarshal([]byte(text), &env); err != nil {
		t.Fatal(err)
	}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"GOMEMLIMIT", "HOST_TEST_ACT_AS", "LC_ALL", "PATH", "PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR", "TMPDIR", "WEFT_PLUGIN",
		"WEFT_PLUGIN_LIFE", "WEFT_PLUGIN_LOG",
	}
	if !slices.Equal(names, want) {
		t.Errorf("its environment:\n%s", strings.Join(env, "\n"))
	}
}

// 4: a line of 70,000 bytes on descriptor 1 stops the library's reader, and the plugin blocks for ever in its next write.
func TestPitfall4LongLinesAreHarmless(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	before := s.pid(p)
	for _, n := range []int{1000, 70_000, 1 << 20} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		said, err := do(ctx, p, fmt.Sprintf("print-%d", n))
		cancel()
		if err != nil || said != "" {
			t.Fatalf("%d bytes: %q %v", n, said, err)
		}
	}
	s.log.await(t, "bytes more")
	if now := s.pid(p); now != before {
		t.Errorf("it was started anew: %d, %d", before, now)
	}
}

// 4, for a program whose SDK does not turn descriptor 1 into 2: the host alone must cope.
func TestPitfall4LongLinesAreHarmlessInEveryLanguage(t *testing.T) {
	r, w := io.Pipe()
	told, shake := io.Pipe()
	b := newLogbook()
	v := newOutput(newTextLog(b))
	var reading sync.WaitGroup
	reading.Go(func() { v.stdout(r, shake) })
	const line = "1|1|unix|/x|grpc"
	go func() {
		long := strings.Repeat("x", 70_000)
		fmt.Fprintf(w, "a banner of a library\n%s\n%s\n%s\nthe end\n", long, line, long)
		w.Close()
	}()
	got, err := io.ReadAll(told)
	reading.Wait()
	if err != nil || string(got) != line+"\n" {
		t.Errorf("handshake %q, %v", got, err)
	}
	if text := b.String(); !strings.Contains(text, "banner") || !strings.Contains(text, "the end") || len(text) > 3*maxLine {
		t.Errorf("the log has %d bytes", len(text))
	}
}

// 4, a loop that prints: the log of the daemon is on a disk that others need too.
func TestPitfall4AFloodOfLinesDoesNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		b := newLogbook()
		v := newOutput(newTextLog(b))
		var reading sync.WaitGroup
		reading.Go(func() { v.read(bufio.NewReaderSize(r, maxLine), "stdout") })
		flood := strings.Repeat("y\n", 10*burst)
		fmt.Fprint(w, flood)
		synctest.Wait()
		if n := strings.Count(b.String(), "msg=y"); n != burst {
			t.Errorf("%d lines of %d are in the log, want %d", n, 10*burst, burst)
		}
		time.Sleep(pace)
		fmt.Fprintln(w, "the end")
		w.Close()
		reading.Wait()
		if text := b.String(); !strings.Contains(text, "the end") || !strings.Contains(text, fmt.Sprintf("left_out=%d", 9*burst)) {
			t.Errorf("what it says after the flood, and how much was left out, is not in the log: %q", text[len(text)-200:])
		}
		if got := v.last(); !strings.HasSuffix(got, "the end") {
			t.Errorf("last words %q", got)
		}
	})
}

// 5: the library's Ping hangs on a stopped plugin, and so does its Kill.
func TestPitfall5AStoppedPluginIsNoticedAndKilled(t *testing.T) {
	limits := quick
	// A second for each check: a plugin that runs must be heard on a machine with thirty processes for two cores.
	limits.Health, limits.HealthEvery, limits.Misses = time.Second, 20*time.Millisecond, 2
	s := newStage(t, limits)
	p := s.puppet()
	before := s.pid(p)
	if err := syscall.Kill(before, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.await(p, "started anew", func(s Status) bool { return s.State == Ready && s.PID != before })
	if s.pid(p) == before || alive(before) {
		t.Error("it was not killed")
	}
	s.log.await(t, "missed 2 health checks")
}

// 5c.
func TestPitfall5ClosingDoesNotHangOnAStoppedPlugin(t *testing.T) {
	limits := quick
	limits.HealthEvery, limits.Drain, limits.Kill = time.Hour, 50*time.Millisecond, 50*time.Millisecond
	s := newStage(t, limits)
	p := s.puppet()
	pid := s.pid(p)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil || alive(pid) {
		t.Errorf("%v; alive: %v", err, alive(pid))
	}
}

// 6: the library's Kill aborts calls in flight.
func TestPitfall6AStopWaitsForCallsInFlight(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	result := make(chan error, 1)
	go func() {
		_, err := do(t.Context(), p, "slow-300")
		result <- err
	}()
	s.awaitCalls(p, 1)
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
}

// awaitCalls waits until so many calls are in flight.
func (s *stage) awaitCalls(p *Plugin, n int) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); inFlight(p) != n; {
		if time.Now().After(end) {
			s.t.Fatalf("never %d calls in flight: %+v", n, p.Status())
		}
		runtime.Gosched()
	}
}

func inFlight(p *Plugin) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life == nil {
		return 0
	}
	return p.life.inFlight()
}

// 7: a client whose process died answers its old address to Start, and nothing starts the plugin again.
func TestPitfall7ADeathCostsTheCallAndIsHealed(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	before := s.pid(p)
	_, err := do(t.Context(), p, "exit")
	e := core.AsError(err)
	if e == nil || e.Reason != core.DriverAway || !strings.Contains(e.What, "exit status 7") {
		t.Errorf("the call: %v", err)
	}
	if now := s.pid(p); now == before { // it waits for the next life
		t.Error("it is the same process")
	}
	if got := p.Status(); got.State != Ready || got.Deaths != 1 || got.Starts != 2 || got.Version != "1.2.3" {
		t.Errorf("%+v", got)
	}
}

// 7, too: a panic costs its call and not the process.
func TestPitfall7APanicCostsItsCall(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	before := s.pid(p)
	if _, err := do(t.Context(), p, "panic"); err == nil || !strings.Contains(err.Error(), "create: ouch") {
		t.Errorf("%v", err)
	}
	if _, err := p.NIC().Services(t.Context()); err == nil || !strings.Contains(err.Error(), "services: ouch") {
		t.Errorf("%v", err)
	}
	if now := s.pid(p); now != before {
		t.Errorf("it was started anew: %d, %d", before, now)
	}
	s.log.await(t, "goroutine")
}

// 8: the server refuses messages over 4 MiB.
func TestPitfall8LargeMessagesPass(t *testing.T) {
	s := newStage(t, quick)
	p, err := s.Start(t.Context(), Spec{Kind: Scheduler, Name: "tioga", Program: act("adapter")})
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for i := range 80 {
		env[fmt.Sprintf("V%d", i)] = strings.Repeat("x", 100<<10)
	}
	ask, err := p.Hooks().Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: "prolog", Env: env})
	if err != nil || ask.Key.Job != "7" {
		t.Errorf("8 MiB: %+v %v", ask, err)
	}
}

// 9: a plugin outlives a daemon that is killed.
func TestPitfall9NoOrphanAfterTheDaemonIsKilled(t *testing.T) {
	cmd := exec.Command(self)
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd.Env = []string{actAs + "=daemon", "HOST_TEST_DIR=" + dir}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
	}
	if n != 1 || err != nil {
		t.Errorf("the plugin lives on: %d %v", n, err)
	}
}

// daemon is a host with a plugin, which says the plugin's pid.
func daemon() {
	h, err := New(Options{Dir: os.Getenv("HOST_TEST_DIR"), Log: newTextLog(io.Discard)})
	if err != nil {
		panic(err)
	}
	p, err := h.Start(context.Background(), Spec{Kind: Driver, Name: "puppet", Program: act("puppet")})
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, p.Status().PID)
	select {}
}

// 10: SIGTERM, which systemd and terminals send to whole groups, kills a plugin at once.
func TestPitfall10SignalsAreLeftToTheDaemon(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	before := s.pid(p)
	if _, err := do(t.Context(), p, "term"); err != nil {
		t.Error(err)
	}
	if now := s.pid(p); now != before {
		t.Errorf("it was started anew: %d, %d", before, now)
	}
	if pgid, err := syscall.Getpgid(before); err != nil || pgid != before {
		t.Errorf("its process group is %d, %v", pgid, err)
	}
}

// 11: what a plugin prints by fmt.Println is thrown away.
func TestPitfall11WhatAPluginSaysIsInTheLog(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	if _, err := do(t.Context(), p, "speak"); err != nil {
		t.Fatal(err)
	}
	s.log.await(t, "printed by a plugin")
	s.log.await(t, `level=WARN msg="said by a plugin" plugin="driver puppet" err="unexpected EOF" took=1s vni=4034`)
}

// 12: PR_SET_PDEATHSIG fires when the thread that started the plugin ends.
func TestPitfall12TheStartingThreadMayEnd(t *testing.T) {
	s := newStage(t, quick)
	var p *Plugin
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var err error
		p, err = s.Start(context.Background(), Spec{Kind: Driver, Name: "puppet", Program: act("puppet")})
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	before := s.pid(p)
	for range 200 { // whichever thread is idle is taken and ended
		gone := make(chan struct{})
		go func() { runtime.LockOSThread(); close(gone) }()
		<-gone
	}
	if now := s.pid(p); now != before || p.Status().Deaths != 0 {
		t.Errorf("it was started anew: %d, %d", before, now)
	}
}

// 13: from the main thread it lives, since that never ends; so does it from the spawner's, which is one for each life.
func TestPitfall13EachLifeHasItsThread(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	for range 3 {
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		pid := s.pid(p)
		for range 50 {
			gone := make(chan struct{})
			go func() { runtime.LockOSThread(); close(gone) }()
			<-gone
		}
		if now := s.pid(p); now != pid {
			t.Errorf("it was started anew: %d, %d", pid, now)
		}
	}
}

// TestAPluginThatGrowsIsKilled: it loses its call, and no job on the node loses its memory.
func TestAPluginThatGrowsIsKilled(t *testing.T) {
	s := newStage(t, quick)
	bounds := Bounds{Memory: 192 << 20}
	p := s.puppet(func(spec *Spec) { spec.Bounds = func() Bounds { return bounds } })
	if got := p.Status().Limit; !strings.Contains(got, "192 MiB") {
		t.Errorf("its limit is shown as %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := do(ctx, p, "grow-256"); err == nil || !strings.Contains(err.Error(), "may have 192 MiB") {
		t.Errorf("it grew: %v", err)
	}
	s.pid(p)
	bounds.Memory = 1 << 30 // as after a reload
	if err := p.Restart(t.Context()); err != nil || !strings.Contains(p.Status().Limit, "1024 MiB") {
		t.Errorf("after a restart: %v, its limit is shown as %q", err, p.Status().Limit)
	}
}

// Not in the list: the library's log parser panics, and with it the daemon, at a line of JSON whose message is no string.
func TestAHostileLineDoesNotEndTheDaemon(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	if _, err := do(t.Context(), p, "hostile"); err != nil {
		t.Fatal(err)
	}
	s.log.await(t, "msg=hello")
	s.log.await(t, "vni=4034")
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
