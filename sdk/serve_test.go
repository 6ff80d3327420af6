package sdk_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk"
)

const actAs = "SDK_TEST_ACT_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(actAs) {
	case "driver":
		sdk.Serve(&driver{}, sdk.WithName("toy"), sdk.WithVersion("1.2.3"))
		return
	case "nothing":
		sdk.Serve(4)
		return
	}
	goleak.VerifyTestMain(m)
}

type driver struct{}

func (driver) Schema() core.Schema                                      { return sdk.SchemaOf(start()) }
func (driver) Configure(context.Context, core.Values) error             { return nil }
func (driver) Devices(context.Context) ([]core.Device, error)           { return nil, nil }
func (driver) Services(context.Context) ([]core.Service, error)         { return nil, nil }
func (driver) Destroy(context.Context, []core.Service) ([]error, error) { return nil, nil }
func (driver) Create(context.Context, []core.ServiceSpec) ([]core.Created, error) {
	return nil, nil
}

// program is the test's own binary as a plugin.
func program(t *testing.T, as string, cookie bool, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command("/proc/self/exe", args...)
	c.Env = []string{actAs + "=" + as, "PLUGIN_UNIX_SOCKET_DIR=" + t.TempDir(), "PLUGIN_PROTOCOL_VERSIONS=1"}
	if cookie {
		c.Env = append(c.Env, sdk.CookieKey+"="+sdk.CookieValue)
	}
	return c
}

// No kernel's help here: the plugin itself sees that its daemon is gone. What it logs then, nobody reads.
func TestItEndsWithItsDaemon(t *testing.T) {
	c := program(t, "driver", true)
	c.Env = append(c.Env, sdk.LevelKey+"=debug")
	log, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	log.Close()
	c.Stderr = write
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "1|1|unix|") || !strings.Contains(line, "|grpc|") {
		t.Errorf("handshake %q, %v", line, err)
	}
	in.Close()
	err = c.Wait()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 3 {
		t.Errorf("it ended with %v", err)
	}
}

func TestByHandItSaysWhatItIs(t *testing.T) {
	c := program(t, "driver", false)
	var text bytes.Buffer
	c.Stderr = &text
	err := c.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != 2 {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{"toy 1.2.3 is a plugin of Weft", `driver "toy" {`, "command = [", "--weft-info"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, text.String())
		}
	}
}

func TestInfo(t *testing.T) {
	out, err := program(t, "driver", false, sdk.InfoFlag).Output()
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Name, Version, Kind string
		Services            []string
		Protocol            int
		Block               []struct {
			Name, Kind string
			Default    any
			Block      []struct{ Name string }
		}
	}
	if err := json.Unmarshal(out, &info); err != nil {
		t.Fatal(err)
	}
	if info.Name != "toy" || info.Version != "1.2.3" || info.Kind != "driver" || len(info.Services) != 1 || info.Services[0] != "weft.nic.v1.NIC" ||
		info.Protocol != 1 || len(info.Block) != 6 || info.Block[2].Default != "1s" || info.Block[5].Block[0].Name != "port" {
		t.Errorf("%s", out)
	}
}

func TestAValueThatIsNoPlugin(t *testing.T) {
	c := program(t, "nothing", true)
	var text bytes.Buffer
	c.Stderr = &text
	c.Stdout = io.Discard
	if err := c.Run(); err == nil || !strings.Contains(text.String(), "a int is no plugin") {
		t.Errorf("%v: %s", err, text.String())
	}
}
