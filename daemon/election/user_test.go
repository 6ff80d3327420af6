package election

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/dev/etcdtest"
)

// A server goes on where etcd restarts and forgets all tokens, and where its user gets another password.
func TestUser(t *testing.T) {
	t.Parallel()
	member := etcdtest.Start(t)
	root := member.Client()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(root.UserAdd(t.Context(), "root", "secret"))
	must(root.UserGrantRole(t.Context(), "root", "root"))
	must(root.UserAdd(t.Context(), "weft", "first"))
	must(root.RoleAdd(t.Context(), "weft"))
	must(root.RoleGrantPermission(t.Context(), "weft", "/weft/", clientv3.GetPrefixRangeEnd("/weft/"),
		clientv3.PermissionType(clientv3.PermReadWrite)))
	must(root.UserGrantRole(t.Context(), "weft", "weft"))
	must(root.AuthEnable(t.Context()))

	file := filepath.Join(t.TempDir(), "password")
	must(nil, os.WriteFile(file, []byte("first\n"), 0o600))
	c, err := Dial(config.Etcd{Endpoints: root.Endpoints(), User: "weft", PasswordFile: file})
	must(nil, err)
	defer c.Close()
	put := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := c.Put(ctx, "/weft/a", "")
		return err
	}
	must(nil, put())
	lease, err := c.Grant(t.Context(), 60)
	must(nil, err)

	admin := member.As("root", "secret")
	must(admin.AuthDisable(t.Context()))
	must(root.AuthEnable(t.Context()))
	if err := put(); err != nil {
		t.Errorf("where etcd has forgotten every token: %v", err)
	}
	member.Kill()
	member.Run()
	if err := put(); err != nil {
		t.Errorf("after a restart of etcd: %v", err)
	}
	must(c.KeepAliveOnce(t.Context(), lease.ID))

	must(member.As("root", "secret").UserChangePassword(t.Context(), "weft", "second"))
	if put() == nil {
		t.Error("etcd takes a password that was changed")
	}
	must(nil, os.WriteFile(file, []byte("second\n"), 0o600))
	if err := put(); err != nil {
		t.Errorf("after the password was changed in the file, too: %v", err)
	}
	must(c.Status(t.Context(), c.Endpoints()[0]))
}
