package rpc

import (
	"context"
	"math"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-hpc/weft/core"
	nicv1 "github.com/weft-hpc/weft/rpc/proto/weft/nic/v1"
)

// NICService is the name of the NIC driver's wire service.
const NICService = "weft.nic.v1.NIC"

// ServeNIC registers driver at a gRPC server.
func ServeNIC(to grpc.ServiceRegistrar, driver core.NICDriver) {
	nicv1.RegisterNICServer(to, &nicServer{driver: driver})
}

// NewNIC is the driver at the other end of conn. An error is a *core.Error; Reason DriverAway when the driver cannot be reached.
func NewNIC(conn grpc.ClientConnInterface) core.NICDriver {
	return &nicClient{pb: nicv1.NewNICClient(conn), remote: nicRemote}
}

var nicRemote = remote{who: "NIC driver", away: core.DriverAway, nic: true}

type nicServer struct {
	nicv1.UnimplementedNICServer
	driver core.NICDriver
}

func (s *nicServer) Devices(ctx context.Context, _ *nicv1.DevicesRequest) (*nicv1.DevicesReply, error) {
	return answered(ctx, &decoder{}, s.driver.Devices, func(devices []core.Device) *nicv1.DevicesReply {
		return &nicv1.DevicesReply{Devices: every(devices, encodeDevice)}
	})
}

func (s *nicServer) Services(ctx context.Context, _ *nicv1.ServicesRequest) (*nicv1.ServicesReply, error) {
	return answered(ctx, &decoder{}, s.driver.Services, func(services []core.Service) *nicv1.ServicesReply {
		return &nicv1.ServicesReply{Services: every(services, encodeService)}
	})
}

func (s *nicServer) Read(ctx context.Context, _ *nicv1.ReadRequest) (*nicv1.ReadReply, error) {
	read := func(ctx context.Context) (core.NICReading, error) { return core.ReadNICs(ctx, s.driver) }
	return answered(ctx, &decoder{}, read, encodeReading)
}

func (s *nicServer) Create(ctx context.Context, req *nicv1.CreateRequest) (*nicv1.CreateReply, error) {
	d := &decoder{}
	specs := each(d, "services", req.GetSpecs(), maxServices, d.spec)
	create := func(ctx context.Context) ([]core.Created, error) { return s.driver.Create(ctx, specs) }
	return answered(ctx, d, create, func(results []core.Created) *nicv1.CreateReply {
		return &nicv1.CreateReply{Results: every(results, encodeCreated)}
	})
}

func (s *nicServer) Destroy(ctx context.Context, req *nicv1.DestroyRequest) (*nicv1.DestroyReply, error) {
	d := &decoder{}
	services := each(d, "services", req.GetServices(), maxServices, d.service)
	destroy := func(ctx context.Context) ([]error, error) { return s.driver.Destroy(ctx, services) }
	return answered(ctx, d, destroy, func(errs []error) *nicv1.DestroyReply {
		return &nicv1.DestroyReply{Results: every(errs, encodeDestroyed)}
	})
}

type nicClient struct {
	remote
	pb  nicv1.NICClient
	old atomic.Bool // it has no Read
}

func (c *nicClient) Devices(ctx context.Context) ([]core.Device, error) {
	reply, err := c.pb.Devices(ctx, &nicv1.DevicesRequest{}, pluginBound...)
	return decoded(c.remote, "Devices", err, func(d *decoder) []core.Device { return each(d, "NICs", reply.GetDevices(), maxDevices, d.nic) })
}

func (c *nicClient) Services(ctx context.Context) ([]core.Service, error) {
	reply, err := c.pb.Services(ctx, &nicv1.ServicesRequest{}, pluginBound...)
	return decoded(c.remote, "Services", err, func(d *decoder) []core.Service { return each(d, "services", reply.GetServices(), maxRuns, d.service) })
}

// ReadNICs implements core.NICReader. A plugin that was built before Read has the three calls only.
func (c *nicClient) ReadNICs(ctx context.Context) (core.NICReading, error) {
	if c.old.Load() {
		return core.ReadNICs(ctx, struct{ core.NICDriver }{c})
	}
	reply, err := c.pb.Read(ctx, &nicv1.ReadRequest{}, pluginBound...)
	if status.Code(err) == codes.Unimplemented {
		c.old.Store(true)
		return c.ReadNICs(ctx)
	}
	return decoded(c.remote, "Read", err, func(d *decoder) core.NICReading { return d.reading(reply) })
}

func (c *nicClient) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	reply, err := c.pb.Create(ctx, &nicv1.CreateRequest{Specs: every(specs, encodeSpec)}, pluginBound...)
	return decoded(c.remote, "Create", err, func(d *decoder) []core.Created {
		d.same(len(specs), len(reply.GetResults()))
		created := func(p *nicv1.Created) core.Created { return d.created(c.remote, p) }
		return each(d, "results", reply.GetResults(), maxServices, created)
	})
}

func (c *nicClient) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	reply, err := c.pb.Destroy(ctx, &nicv1.DestroyRequest{Services: every(services, encodeService)}, pluginBound...)
	return decoded(c.remote, "Destroy", err, func(d *decoder) []error {
		d.same(len(services), len(reply.GetResults()))
		return each(d, "results", reply.GetResults(), maxServices, c.destroyed)
	})
}

// same refuses an answer that leaves open which result is whose.
func (d *decoder) same(asked, answered int) {
	if asked != answered {
		d.fail("results: %d for %d services", answered, asked)
	}
}

func encodeReading(r core.NICReading) *nicv1.ReadReply {
	return &nicv1.ReadReply{
		Before: every(r.Before, encodeDevice), Services: every(r.Services, encodeService), After: every(r.After, encodeDevice),
	}
}

func encodeDevice(v core.Device) *nicv1.Device {
	return &nicv1.Device{
		Name: utf(v.Name), Address: v.Address, Up: v.Up, Retry: v.Retry, Open: v.Open, Fault: text(v.Fault), Remedy: text(v.Remedy), Capacity: encodeCapacity(v.Capacity),
		Classes: uint32(v.Classes), RgidsTotal: uint32(v.RGIDs.Total), RgidsFree: uint32(v.RGIDs.Free),
		Bus: utf(v.Bus), Probed: utf(v.Probed), Network: utf(v.Network),
		SignPath: utf(v.Sign.Path), SignInode: v.Sign.Inode,
	}
}

func (d *decoder) nic(p *nicv1.Device) core.Device {
	if p.GetAddress() >= 1<<20 {
		d.fail("NIC %s: its address %#x has more than 20 bits", core.Clip(p.GetName()), p.GetAddress())
	}
	if p.GetRgidsTotal() > math.MaxUint16 || p.GetRgidsFree() > math.MaxUint16 {
		d.fail("NIC %s: RGIDs: %d of %d are free, and there are at most %d", core.Clip(p.GetName()), p.GetRgidsFree(), p.GetRgidsTotal(), math.MaxUint16)
	}
	return core.Device{
		Name: d.device(p.GetName()), Address: p.GetAddress(), Up: p.GetUp(), Retry: p.GetRetry(), Open: p.GetOpen(), Fault: text(p.GetFault()), Remedy: text(p.GetRemedy()),
		Capacity: d.capacity(p.GetCapacity()), Classes: d.classes(p.GetClasses(), core.AllClasses),
		RGIDs: core.Stock{Total: uint16(p.GetRgidsTotal()), Free: uint16(p.GetRgidsFree())},
		Bus:   d.word("PCI address", p.GetBus()), Probed: d.word("probe", p.GetProbed()),
		Network: d.word("network device", p.GetNetwork()),
		Sign:    core.Sign{Path: d.word("sign", p.GetSignPath()), Inode: p.GetSignInode()},
	}
}

func (d *decoder) reading(p *nicv1.ReadReply) core.NICReading {
	return core.NICReading{
		Before:   each(d, "NICs", p.GetBefore(), maxDevices, d.nic),
		Services: each(d, "services", p.GetServices(), maxRuns, d.service),
		After:    each(d, "NICs", p.GetAfter(), maxDevices, d.nic),
	}
}

func encodeSpec(s core.ServiceSpec) *nicv1.Spec {
	return &nicv1.Spec{
		Device: utf(s.Device), Owner: encodeOwner(s.Owner), Vnis: encodeVNIs(s.VNIs), Classes: uint32(s.Classes), Limits: encodeLimits(s.Limits),
	}
}

func (d *decoder) spec(p *nicv1.Spec) core.ServiceSpec {
	s := core.ServiceSpec{
		Device: d.device(p.GetDevice()), Owner: d.owner(p.GetOwner()), VNIs: d.vnis(p.GetVnis(), maxOnNIC),
		Classes: d.classes(p.GetClasses(), core.AllClasses), Limits: d.wanted(p.GetLimits()),
	}
	switch {
	case d.err != nil:
	case len(s.VNIs) == 0:
		d.fail("service on %s: it has no VNI", s.Device)
	case len(s.VNIs) > core.MaxVNIs && !core.IsVNIRange(s.VNIs):
		d.fail("service on %s: %d VNIs that are no range; a service names up to %d", s.Device, len(s.VNIs), core.MaxVNIs)
	case s.Owner.Kind == core.OwnerNone:
		d.fail("service on %s: it has no owner, so everybody could use it", s.Device)
	}
	return s
}

func encodeDestroyed(err error) *nicv1.Destroyed { return &nicv1.Destroyed{Error: encodeError(err)} }

func (r remote) destroyed(p *nicv1.Destroyed) error {
	if e := r.fault(p.GetError()); e != nil {
		return e
	}
	return nil
}

func encodeCreated(c core.Created) *nicv1.Created {
	if c.Err != nil && c.Service.Device == "" {
		return &nicv1.Created{Error: encodeError(c.Err)}
	}
	return &nicv1.Created{Service: encodeService(c.Service), Error: encodeError(c.Err)}
}

func (d *decoder) created(r remote, p *nicv1.Created) core.Created {
	var c core.Created
	if e := r.fault(p.GetError()); e != nil {
		c.Err = e
	}
	if p.GetService() != nil || c.Err == nil {
		c.Service = d.service(p.GetService())
	}
	return c
}
