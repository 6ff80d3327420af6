package examples

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/host/probe"
	"github.com/weft-hpc/weft/sdk/conformance"
)

// TestGoDriver builds the driver as its author does, and runs it as a site does: by path and sum.
func TestGoDriver(t *testing.T) {
	text, err := os.ReadFile("nicdriver/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 60 {
		t.Errorf("nicdriver/main.go has %d lines, and a driver is promised in 60", n)
	}
	path := filepath.Join(t.TempDir(), "nicdriver")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = "nicdriver"
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\nwhere go.mod has changed, mend it by `cd examples/nicdriver && go mod tidy`", err, out)
	}
	exercise(t, host.Program{Path: path, SHA256: sum(t, path)}, "nicdriver", "nics: 9: it must be 1 to 8")
}

// TestPythonDriver runs a plugin that has nothing of Weft but the .proto files.
func TestPythonDriver(t *testing.T) {
	python := ""
	for _, p := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(p, "-c", "import grpc, google.protobuf").Run() == nil {
			python = p
			break
		}
	}
	protoc, err := exec.LookPath("protoc")
	if python == "" || err != nil {
		t.Skip("NOT RUN: the Python driver, since there is no protoc or no python3 that imports grpc and google.protobuf; apt-get install protobuf-compiler python3-grpcio python3-protobuf")
	}
	python, err = exec.LookPath(python)
	if err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	files, err := filepath.Glob("../rpc/proto/weft/*/v1/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatalf("no .proto files: %v", err)
	}
	if out, err := exec.Command(protoc, append([]string{"-I", "../rpc/proto", "--python_out=" + classes}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// A file of root's own in a folder of root's own, as a site would have it.
	text, err := os.ReadFile("pythondriver/driver.py")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "driver.py")
	if err := os.WriteFile(path, bytes.Replace(text, []byte("#!/usr/bin/env python3"), []byte("#!"+python), 1), 0o755); err != nil {
		t.Fatal(err)
	}
	program := host.Program{Path: path, SHA256: sum(t, path), Env: []string{"WEFT_PROTO=" + classes, "PYTHONDONTWRITEBYTECODE=1"}}
	exercise(t, program, "pythondriver", "nics: 9: it must be 1 to 8")
}

func sum(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

// exercise runs a driver of memory NICs through a life and a second one.
func exercise(t *testing.T, program host.Program, name, complaint string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	h, err := host.New(host.Options{Dir: dir, Log: log, Limits: host.Limits{Start: time.Minute, Configure: time.Minute, Backoff: time.Millisecond, Patience: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	nics := int64(9)
	p, err := h.Start(t.Context(), host.Spec{Kind: host.Driver, Name: name, Program: program, Block: func(s core.Schema) (core.Values, error) {
		if len(s.Fields) != 1 || s.Fields[0].Name != "nics" || s.Fields[0].Default != int64(4) || s.Fields[0].Doc == "" {
			return nil, fmt.Errorf("its schema is %+v", s)
		}
		return core.Values{"nics": nics}, nil
	}})
	if at, ok := errors.AsType[*core.PathError](err); !ok || strings.Join(at.Path, "/") != "nics" || err.Error() != complaint {
		t.Fatalf("a wrong block: %v", err)
	}
	nics = 2
	for life := range 2 {
		if err := p.Restart(t.Context()); err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		use(t, p.NIC())
	}
	t.Run("conformance", func(t *testing.T) {
		conformance.TestSubject(t, probe.Subject(name, program, dir), conformance.Site{VNIs: conformance.TestVNIs, InMemory: true, Patience: 2 * time.Minute, Values: core.Values{"nics": int64(2)}})
	})
	if s := p.Status(); s.State != host.Ready || s.PID == 0 || s.Version == "" {
		t.Errorf("%+v", s)
	}
}

func use(t *testing.T, d core.NICDriver) {
	t.Helper()
	devices, err := d.Devices(t.Context())
	if err != nil || len(devices) != 2 || devices[1].Name != "mem1" || !devices[1].Up {
		t.Fatalf("devices %+v, %v", devices, err)
	}
	specs := []core.ServiceSpec{
		{Device: "mem0", Owner: core.UID(1000), VNIs: []core.VNI{4034}, Classes: core.BestEffort, Limits: core.Limits{core.TXQ: {Max: 8, Reserved: 4}}},
		{Device: "mem1", Owner: core.UID(1000), VNIs: []core.VNI{4034}, Classes: core.BestEffort},
	}
	made, err := d.Create(t.Context(), specs)
	if err != nil || made[0].Err != nil || made[0].Service.Limits != specs[0].Limits || made[1].Service.Device != "mem1" {
		t.Fatalf("made %+v, %v", made, err)
	}
	again, err := d.Create(t.Context(), specs[:1])
	if err != nil || !again[0].Service.Same(made[0].Service) {
		t.Errorf("made again: %+v, %v", again, err)
	}
	all, err := d.Services(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("services %+v, %v", all, err)
	}
	other := made[0].Service
	other.VNIs = []core.VNI{9}
	errs, err := d.Destroy(t.Context(), []core.Service{other, made[0].Service, made[1].Service, made[1].Service})
	if err != nil || !errors.Is(errs[0], core.Conflict) || errs[1] != nil || errs[2] != nil || errs[3] != nil {
		t.Errorf("destroyed: %v, %v", errs, err)
	}
	if all, err := d.Services(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("left: %+v, %v", all, err)
	}
}
