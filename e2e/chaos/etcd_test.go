package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// lease is as short as etcd grants.
const lease = 2 * time.Second

// needEtcd skips a test where there is no etcd.
func needEtcd(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("etcd"); err != nil {
		t.Skip("NOT RUN: chaos of several servers, since there is no etcd here; `make test-deps` brings it")
	}
}

// makeEtcd makes the hosts of etcd's members. Each second seed has the current line where that is built, and the others
// have the release on PATH. Their disks are in memory, since three on one disk wait for each other.
func (s *site) makeEtcd() {
	s.t.Helper()
	var cluster []string
	for i := range s.episode.members {
		name := fmt.Sprintf("e%d", i+1)
		s.members = append(s.members, name)
		s.hosts[name] = s.lan.add(name, 51+i)
		cluster = append(cluster, fmt.Sprintf("%s=http://%s:2380", name, s.hosts[name].address))
		must(s.t, os.MkdirAll(s.path(name, "disk"), 0o755))
		must(s.t, syscall.Mount("tmpfs", s.path(name, "disk"), "tmpfs", 0, "size=512m,mode=0755"))
		s.t.Cleanup(func() { _ = syscall.Unmount(s.path(name, "disk"), syscall.MNT_DETACH) })
	}
	etcd := "etcd"
	if path := filepath.Join(os.Getenv(binEnv), currentEtcd); s.seed%2 == 1 {
		if _, err := os.Stat(path); err == nil {
			etcd = path
		}
	}
	for _, name := range s.members {
		peer, client := "http://"+s.hosts[name].address+":2380", "http://"+s.hosts[name].address+":2379"
		args := []string{
			etcd, "--name", name, "--data-dir", s.path(name, "disk", "data"), "--logger", "zap", "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(cluster, ","),
		}
		s.daemons[name] = newDaemon(s.t, s.path(name, "log"), func() *exec.Cmd { return s.hosts[name].command(args...) })
	}
}

// etcdBlock is the block of config.hcl.
func (s *site) etcdBlock() string {
	var endpoints []string
	for _, name := range s.members {
		endpoints = append(endpoints, "http://"+s.hosts[name].address+":2379")
	}
	return fmt.Sprintf("etcd {\n    endpoints = %s\n    lease     = %q\n  }", list(endpoints), lease)
}

// status is a server's.
type status struct {
	server.Status
	Servers struct {
		Leads bool `json:"leads"`
		Warm  bool `json:"warm"`
	} `json:"servers"`
}

func (s *site) status(ctx context.Context, name string) (st status, err error) {
	err = hook.Call(ctx, s.socket(name), "status", nil, &st)
	return st, err
}

// leader is the server that leads, or any one where none does.
func (s *site) leader(ctx context.Context) string {
	if s.episode.servers > 0 {
		for _, name := range s.servers {
			ctx, cancel := context.WithTimeout(ctx, 200*ms)
			st, err := s.status(ctx, name)
			cancel()
			if err == nil && st.Servers.Leads {
				return name
			}
		}
	}
	return s.servers[0]
}

// pauseTwo takes etcd its quorum, and resumeTwo gives it back.
func (s *site) pauseTwo(string) {
	for _, name := range s.members[1:] {
		s.pause(name)
	}
}

func (s *site) resumeTwo(string) {
	for _, name := range s.members[1:] {
		s.resume(name)
	}
}

// copyEtcd takes a snapshot of all members.
func (s *site) copyEtcd(string) {
	for _, name := range s.members {
		s.pause(name)
		defer s.resume(name)
	}
	for _, name := range s.members {
		to := s.path(name, "disk", older)
		if err := os.CopyFS(to, os.DirFS(s.path(name, "disk", "data"))); err != nil {
			s.t.Error(err)
		}
	}
}

// restoreEtcd puts the snapshot in the place of all that was written since.
func (s *site) restoreEtcd(string) {
	for _, name := range s.members {
		s.kill(name)
	}
	for _, name := range s.members {
		data := s.path(name, "disk", "data")
		if err := os.RemoveAll(data); err != nil {
			s.t.Error(err)
		}
		if err := os.Rename(filepath.Join(filepath.Dir(data), older), data); err != nil {
			s.t.Error(err)
		}
		if err := os.Chmod(data, 0o700); err != nil {
			s.t.Error(err)
		}
	}
	for _, name := range s.members {
		s.start(name)
	}
}
