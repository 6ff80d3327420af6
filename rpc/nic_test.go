package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	nicv1 "github.com/weft-hpc/weft/rpc/proto/weft/nic/v1"
)

// fakeNIC answers what it is told to.
type fakeNIC struct {
	devices  func(context.Context) ([]core.Device, error)
	services func(context.Context) ([]core.Service, error)
	create   func(context.Context, []core.ServiceSpec) ([]core.Created, error)
	destroy  func(context.Context, []core.Service) ([]error, error)
}

func (f *fakeNIC) Devices(ctx context.Context) ([]core.Device, error)   { return f.devices(ctx) }
func (f *fakeNIC) Services(ctx context.Context) ([]core.Service, error) { return f.services(ctx) }
func (f *fakeNIC) Create(ctx context.Context, s []core.ServiceSpec) ([]core.Created, error) {
	return f.create(ctx, s)
}
func (f *fakeNIC) Destroy(ctx context.Context, s []core.Service) ([]error, error) {
	return f.destroy(ctx, s)
}

func wireNIC(t testing.TB, f core.NICDriver) core.NICDriver {
	return NewNIC(wire(t, func(s *grpc.Server) { ServeNIC(s, f) }))
}

// A plugin of a release without Read is asked by three calls.
func TestReadOfAnOlderDriver(t *testing.T) {
	f := &fakeNIC{
		devices:  func(context.Context) ([]core.Device, error) { return []core.Device{{Name: "cxi0"}}, nil },
		services: func(context.Context) ([]core.Service, error) { return []core.Service{{Device: "cxi0", ID: 7}}, nil },
	}
	asked := 0
	c := NewNIC(wire(t, func(s *grpc.Server) { nicv1.RegisterNICServer(s, unread{&nicServer{driver: f}, &asked}) }))
	for range 2 {
		r, err := core.ReadNICs(t.Context(), c)
		if err != nil || len(r.Before) != 1 || len(r.Services) != 1 || len(r.After) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if asked != 1 {
		t.Errorf("it is asked %d times for Read", asked)
	}
}

// unread is a driver's server without Read.
type unread struct {
	*nicServer
	asked *int
}

func (u unread) Read(ctx context.Context, r *nicv1.ReadRequest) (*nicv1.ReadReply, error) {
	*u.asked++
	return nicv1.UnimplementedNICServer{}.Read(ctx, r)
}

func TestNIC(t *testing.T) {
	f := &fakeNIC{}
	c := wireNIC(t, f)
	rapid.Check(t, func(t *rapid.T) {
		devices, services := list(t, "devices", genDevice, 3), list(t, "services", genService, 3)
		specs := list(t, "specs", genSpec, 3)
		var gotSpecs []core.ServiceSpec
		var gotServices []core.Service
		created, gone := make([]core.Created, len(specs)), make([]error, len(services))
		for i := range created {
			created[i] = genCreated.Draw(t, "created")
		}
		for i := range gone {
			if rapid.Bool().Draw(t, "stays") {
				gone[i] = genError.Draw(t, "error")
			}
		}
		f.devices = func(context.Context) ([]core.Device, error) { return devices, nil }
		f.services = func(context.Context) ([]core.Service, error) { return services, nil }
		f.create = func(_ context.Context, s []core.ServiceSpec) ([]core.Created, error) {
			gotSpecs = s
			return created, nil
		}
		f.destroy = func(_ context.Context, s []core.Service) ([]error, error) { gotServices = s; return gone, nil }
		d, err1 := c.Devices(context.Background())
		s, err2 := c.Services(context.Background())
		whole, err5 := core.ReadNICs(context.Background(), c)
		made, err3 := c.Create(context.Background(), specs)
		left, err4 := c.Destroy(context.Background(), services)
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		read := core.NICReading{Before: devices, Services: services, After: devices}
		want := []any{devices, services, read, specs, services, list0(created), list0(gone)}
		got := []any{d, s, whole, gotSpecs, gotServices, made, left}
		if diff := cmp.Diff(want, got, errorsWhole); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	})
}

// list0 is what an empty list becomes.
func list0[T any](l []T) []T {
	if len(l) == 0 {
		return nil
	}
	return l
}

func TestErrorsCrossWhole(t *testing.T) {
	var fail error
	f := &fakeNIC{devices: func(context.Context) ([]core.Device, error) { return nil, fail }}
	c := wireNIC(t, f)
	rapid.Check(t, func(t *rapid.T) {
		want := genError.Draw(t, "error")
		fail = fmt.Errorf("wrapped: %w", want)
		want.What = "wrapped: " + want.What
		_, err := c.Devices(context.Background())
		got, ok := errors.AsType[*core.Error](err)
		if !ok {
			t.Fatalf("%T", err)
		}
		if diff := cmp.Diff(want, got, errorsWhole); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		if !errors.Is(err, want.Code) {
			t.Fatalf("%v is no %v", err, want.Code)
		}
	})
	fail = errors.New("a foreign one \xff")
	if _, err := c.Devices(t.Context()); core.AsError(err).Reason != core.InternalFault || err.Error() != "a foreign one \uFFFD" {
		t.Errorf("%v", err)
	}
}

// TestStatuses shows what a plugin's bare gRPC status becomes, and that each of the eleven codes is its status and comes back.
func TestStatuses(t *testing.T) {
	for _, test := range []struct {
		code   codes.Code
		want   core.Code
		reason core.Reason
	}{
		{codes.InvalidArgument, core.Invalid, core.BadCall},
		{codes.NotFound, core.NotFound, core.NotThere},
		{codes.AlreadyExists, core.Conflict, core.NICConflict},
		{codes.PermissionDenied, core.Denied, core.NotAllowed},
		{codes.ResourceExhausted, core.Exhausted, core.Overloaded},
		{codes.Aborted, core.Busy, core.ServiceBusy},
		{codes.Unavailable, core.Unavailable, core.DriverAway},
		{codes.DeadlineExceeded, core.Timeout, core.TimedOut},
		{codes.Unimplemented, core.Unsupported, core.NotSupported},
		{codes.DataLoss, core.Corrupt, core.InternalFault},
		{codes.Internal, core.Internal, core.InternalFault},
		{codes.Canceled, core.Unavailable, core.Cancelled},
		{codes.Unauthenticated, core.Denied, core.NotAllowed},
		{codes.FailedPrecondition, core.Invalid, core.BadCall},
		{codes.OutOfRange, core.Invalid, core.BadCall},
		{codes.Unknown, core.Internal, core.InternalFault},
	} {
		got := nicRemote.inward("Create", status.Error(test.code, "why"))
		if got.Code != test.want || got.Reason != test.reason || got.Remedy == "" {
			t.Errorf("%v: %v %q", test.code, got.Code, got.Reason)
		}
		if got.What[:len("NIC driver: Create: why")] != "NIC driver: Create: why" {
			t.Errorf("%v: %q", test.code, got.What)
		}
	}
	for c := core.Invalid; c <= core.Internal; c++ {
		s := status.Convert(outward(&core.Error{Code: c, Reason: core.BadCall, What: "w"}))
		if s.Code() != statusCodes[c] || coreCode(s.Code()) != c {
			t.Errorf("%v becomes %v", c, s.Code())
		}
	}
	if e := nicRemote.inward("Create", status.FromContextError(context.DeadlineExceeded).Err()); !errors.Is(e, context.DeadlineExceeded) || !errors.Is(e, core.Timeout) {
		t.Errorf("%v", e)
	}
	if e := nicRemote.inward("Create", status.FromContextError(context.Canceled).Err()); !errors.Is(e, context.Canceled) {
		t.Errorf("%v", e)
	}
	if e := nicRemote.inward("Create", context.Canceled); e.Reason != core.Cancelled {
		t.Errorf("%v", e)
	}
}

func TestDeadlinesTravel(t *testing.T) {
	f := &fakeNIC{}
	c := wireNIC(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	want, _ := ctx.Deadline()
	f.devices = func(ctx context.Context) ([]core.Device, error) {
		if got, ok := ctx.Deadline(); !ok || got.Sub(want).Abs() > time.Minute {
			t.Errorf("deadline %v, want %v", got, want)
		}
		return nil, nil
	}
	if _, err := c.Devices(ctx); err != nil {
		t.Fatal(err)
	}

	hang := make(chan error, 1)
	f.devices = func(ctx context.Context) ([]core.Device, error) {
		<-ctx.Done()
		hang <- ctx.Err()
		return nil, ctx.Err()
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Devices(short); !errors.Is(err, core.Timeout) || core.AsError(err).Reason != core.TimedOut {
		t.Errorf("%v", err)
	}
	<-hang

	begun := make(chan struct{})
	f.devices = func(ctx context.Context) ([]core.Device, error) {
		close(begun)
		<-ctx.Done()
		hang <- ctx.Err()
		return nil, ctx.Err()
	}
	gone, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := c.Devices(gone); core.AsError(err).Reason != core.Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := <-hang; !errors.Is(err, context.Canceled) {
		t.Errorf("the driver saw %v", err)
	}
}

func TestNothingBeginsLate(t *testing.T) {
	f := &fakeNIC{create: func(context.Context, []core.ServiceSpec) ([]core.Created, error) {
		t.Error("it began")
		return nil, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&nicServer{driver: f}).Create(ctx, &nicv1.CreateRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("%v", err)
	}
	_, err := (&nicServer{driver: f}).Create(t.Context(), &nicv1.CreateRequest{Specs: []*nicv1.Spec{{Device: "cxi0", Vnis: []uint32{70000}}}})
	if e := nicRemote.inward("Create", err); e.Reason != core.BadCall || e.What != "VNI 70000: it is not from 1 to 65535" {
		t.Errorf("%v", e)
	}
}

func TestAnswersAreDoubted(t *testing.T) {
	f := &fakeNIC{
		create:  func(context.Context, []core.ServiceSpec) ([]core.Created, error) { return make([]core.Created, 2), nil },
		destroy: func(context.Context, []core.Service) ([]error, error) { return nil, nil },
		devices: func(context.Context) ([]core.Device, error) {
			return []core.Device{{Name: "cxi0", Address: 1 << 20}}, nil
		},
		services: func(context.Context) ([]core.Service, error) {
			return []core.Service{{Device: "cxi 0\n", VNIs: []core.VNI{1}}}, nil
		},
	}
	c := wireNIC(t, f)
	_, err1 := c.Create(t.Context(), []core.ServiceSpec{{Device: "cxi0", Owner: core.UID(1), VNIs: []core.VNI{5}}})
	_, err2 := c.Destroy(t.Context(), []core.Service{{Device: "cxi0"}})
	_, err3 := c.Devices(t.Context())
	_, err4 := c.Services(t.Context())
	for i, err := range []error{err1, err2, err3, err4} {
		if e := core.AsError(err); e == nil || e.Reason != core.InternalFault {
			t.Errorf("%d: %v", i, err)
		}
	}
}

func TestAway(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	conn := serve(t, l, func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", addr)
	},
		func(*grpc.Server) {})
	if _, err := NewNIC(conn).Devices(t.Context()); core.AsError(err).Reason != core.NotSupported {
		t.Errorf("a plugin without the service: %v", err)
	}
	l.Close()
	none, err := grpc.NewClient("passthrough:///gone", grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("refused") }),
		grpc.WithTransportCredentials(insecureCreds()))
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	key := core.Key{JobID: core.JobID{Scheduler: "s", Job: "1"}}
	_, away1 := NewNIC(none).Devices(t.Context())
	_, away2 := NewAuthority(none).Reserve(t.Context(), "n", core.Intent{Action: core.Prepare, Key: key}, core.Peer{})
	away := NewScheduler(none, []core.Ability{"describe"})
	_, away3 := core.Describe(t.Context(), away, key, nil, core.Peer{})
	_, away4 := NewHooks(none).Parse(t.Context(), core.HookCall{})
	away5 := NewFabric(none).Release(t.Context(), key)
	away6 := NewPlugin(none).Configure(t.Context(), nil)
	away7 := NewAuthority(none).Attend(t.Context(), "n", core.Report{Full: true}, nil, nil)
	away8 := away.Watch(t.Context(), nil)
	want := []core.Reason{core.DriverAway, core.ServerAway, core.SchedulerAway, core.PluginAway, core.PluginAway, core.PluginAway, core.ServerAway, core.SchedulerAway}
	for i, err := range []error{away1, away2, away3, away4, away5, away6, away7, away8} {
		if e := core.AsError(err); e == nil || e.Reason != want[i] || e.Code != core.Unavailable {
			t.Errorf("%d: %v, want %s", i, err, want[i])
		}
	}
}

func TestBoundOfMessages(t *testing.T) {
	c := NewHooks(wire(t, func(s *grpc.Server) { ServeHooks(s, fakeHooks{}) }))
	big := core.HookCall{Stdin: make([]byte, 8<<20)} // beyond gRPC's own 4 MiB
	if _, err := c.Parse(t.Context(), big); err != nil {
		t.Errorf("%v", err)
	}
	a := NewAuthority(wire(t, func(s *grpc.Server) { ServeAuthority(s, &fakeAuthority{}, isNode("n1")) }, AuthorityOptions()...))
	_, err := a.Reserve(t.Context(), "n1", core.Intent{Action: core.Prepare, Note: make([]byte, 8<<20)}, core.Peer{})
	if e := core.AsError(err); e == nil || e.Code != core.Exhausted || e.Reason != core.Overloaded {
		t.Errorf("%v", err)
	}
}
