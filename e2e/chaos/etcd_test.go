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

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/daemon/election"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/identity"
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
	secure := []string{}
	if s.secured() {
		secure = s.makeEtcdKeys()
	}
	for _, name := range s.members {
		peer, client := "http://"+s.hosts[name].address+":2380", s.endpoint(name)
		args := []string{
			etcd, "--name", name, "--data-dir", s.path(name, "disk", "data"), "--logger", "zap", "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(cluster, ","),
		}
		args = append(args, secure...)
		s.daemons[name] = newDaemon(s.t, s.path(name, "log"), func() *exec.Cmd { return s.hosts[name].command(args...) })
	}
}

// secured tells whether servers and etcd meet by TLS: so it is for two of four seeds.
func (s *site) secured() bool { return s.seed%4 >= 2 }

func (s *site) endpoint(member string) string {
	scheme := "http"
	if s.secured() {
		scheme = "https"
	}
	return scheme + "://" + s.hosts[member].address + ":2379"
}

// makeEtcdKeys makes the certificates, of an authority that has nothing to do with Weft's, and gives etcd's flags.
func (s *site) makeEtcdKeys() (flags []string) {
	s.t.Helper()
	var at []string
	for _, name := range s.members {
		at = append(at, s.hosts[name].address)
	}
	dir, now := s.path("etcd-tls"), time.Now()
	must(s.t, identity.Init(dir, at, now))
	must(s.t, identity.IssueNode(dir, "client", now))
	return []string{
		"--client-cert-auth", "--trusted-ca-file", filepath.Join(dir, identity.CAFile),
		"--cert-file", filepath.Join(dir, "server.crt"), "--key-file", filepath.Join(dir, "server.key"),
	}
}

// etcd is the block of config.hcl, as its reader gives it.
func (s *site) etcd() config.Etcd {
	c := config.Etcd{Prefix: "/weft/", Lease: lease}
	for _, name := range s.members {
		c.Endpoints = append(c.Endpoints, s.endpoint(name))
	}
	if s.secured() {
		c.TLS = s.path("etcd-tls")
	}
	return c
}

// etcdBlock is the block of config.hcl.
func (s *site) etcdBlock() string {
	c := s.etcd()
	text := fmt.Sprintf("endpoints = %s\n    lease = %q", list(c.Endpoints), c.Lease)
	if c.TLS != "" {
		text += fmt.Sprintf("\n    tls = %q", c.TLS)
	}
	return fmt.Sprintf("etcd {\n    %s\n  }", text)
}

// fillEtcd has etcd take no writes, as if it had no space left, and emptyEtcd ends that.
func (s *site) fillEtcd(string)  { _ = s.alarm(pb.AlarmRequest_ACTIVATE) }
func (s *site) emptyEtcd(string) { _ = s.alarm(pb.AlarmRequest_DEACTIVATE) }

func (s *site) alarm(do pb.AlarmRequest_AlarmAction) error {
	client, err := election.Dial(s.etcd())
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	ask := &pb.AlarmRequest{Action: do, Alarm: pb.AlarmType_NOSPACE}
	_, err = pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, ask)
	return err
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
