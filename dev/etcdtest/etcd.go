// Package etcdtest runs an etcd for tests.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Member is an etcd, of the release that the PATH has. Its sockets lie in its folder.
type Member struct {
	t      testing.TB
	dir    string
	client string // its socket, below dir
	args   []string
	cmd    *exec.Cmd
}

// Start starts one that is alone, and which ends with the test. Args are more of its flags.
func Start(t testing.TB, args ...string) *Member {
	t.Helper()
	return StartMembers(t, 1, args...)[0]
}

// StartMembers starts n that are one etcd.
func StartMembers(t testing.TB, n int, args ...string) (all []*Member) {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("NOT RUN: the store in etcd, since there is no etcd here; `make test-deps` brings it")
	}
	dir, err := os.MkdirTemp("", "etcd") // the test's own folder can be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, m := range all {
			m.Kill()
		}
		_ = os.RemoveAll(dir)
	})
	var cluster []string
	for i := range n {
		cluster = append(cluster, fmt.Sprintf("m%d=unix://peer%[1]d:1", i))
	}
	for i := range n {
		client, peer := fmt.Sprintf("client%d:1", i), fmt.Sprintf("unix://peer%d:1", i)
		all = append(all, &Member{t: t, dir: dir, client: client, args: append([]string{
			"--name", fmt.Sprint("m", i), "--data-dir", fmt.Sprint("data", i), "--log-level", "error",
			"--listen-client-urls", "unix://" + client, "--advertise-client-urls", "unix://" + client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(cluster, ","),
		}, args...)})
	}
	for _, m := range all {
		m.begin()
	}
	for _, m := range all {
		m.await()
	}
	return all
}

// Run starts it again on its data.
func (m *Member) Run() {
	m.t.Helper()
	m.begin()
	m.await()
}

func (m *Member) begin() {
	m.t.Helper()
	for _, socket := range []string{m.client, strings.Replace(m.client, "client", "peer", 1)} { // it may have been killed
		_ = os.Remove(filepath.Join(m.dir, socket))
	}
	m.cmd = exec.Command("etcd", m.args...)
	m.cmd.Dir = m.dir
	log, err := os.OpenFile(m.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	m.cmd.Stderr = log
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
}

func (m *Member) log() string { return filepath.Join(m.dir, m.client+".log") }

// await waits until it answers.
func (m *Member) await() {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for c := m.Client(); ; {
		if _, err := c.Get(ctx, "a"); err == nil || errors.Is(err, rpctypes.ErrUserEmpty) {
			return
		}
		if ctx.Err() != nil {
			text, _ := os.ReadFile(m.log())
			m.t.Fatalf("etcd does not answer: %s", text)
		}
	}
}

// Kill ends it with SIGKILL.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	m.cmd = nil
}

// Client is a new client of it, which ends with the test.
func (m *Member) Client() *clientv3.Client {
	m.t.Helper()
	return m.As("", "")
}

// As is a client with a user's password.
func (m *Member) As(user, password string) *clientv3.Client {
	m.t.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + filepath.Join(m.dir, m.client)}, Username: user, Password: password,
		Logger: zap.NewNop(),
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close() })
	return c
}

// Lead has key lead below prefix, and gives its create revision.
func Lead(t testing.TB, c *clientv3.Client, prefix string) int64 {
	t.Helper()
	if _, err := c.Delete(t.Context(), prefix+"leader"); err != nil {
		t.Fatal(err)
	}
	got, err := c.Put(t.Context(), prefix+"leader", `{"Name":"a server"}`)
	if err != nil {
		t.Fatal(err)
	}
	return got.Header.Revision
}
