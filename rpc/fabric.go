package rpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	fabricv1 "github.com/weft-hpc/weft/rpc/proto/weft/fabric/v1"
)

// FabricService is the name of the fabric backend's wire service.
const FabricService = "weft.fabric.v1.Fabric"

// ServeFabric registers backend at a gRPC server.
func ServeFabric(to grpc.ServiceRegistrar, backend core.FabricBackend) {
	fabricv1.RegisterFabricServer(to, &fabricServer{backend: backend})
}

// NewFabric is the backend at the other end of conn. An error is a *core.Error; Reason PluginAway when the backend cannot be reached.
func NewFabric(conn grpc.ClientConnInterface) core.FabricBackend {
	return &fabricClient{pb: fabricv1.NewFabricClient(conn), remote: remote{who: "fabric backend", away: core.PluginAway}}
}

type fabricServer struct {
	fabricv1.UnimplementedFabricServer
	backend core.FabricBackend
}

func (s *fabricServer) Reserve(ctx context.Context, req *fabricv1.ReserveRequest) (*fabricv1.ReserveReply, error) {
	d := &decoder{}
	key, n := d.key(req.GetKey()), d.count("addresses", req.GetAddresses())
	reserve := func(ctx context.Context) (core.Collective, error) { return s.backend.Reserve(ctx, key, n) }
	return answered(ctx, d, reserve, func(c core.Collective) *fabricv1.ReserveReply {
		return &fabricv1.ReserveReply{Collective: encodeCollective(c)}
	})
}

func (s *fabricServer) ReleaseStep(ctx context.Context, req *fabricv1.ReleaseStepRequest) (*fabricv1.ReleaseStepReply, error) {
	d := &decoder{}
	key, step := d.key(req.GetKey()), d.word("step", req.GetStep())
	return &fabricv1.ReleaseStepReply{}, d.then(ctx, func() error { return s.backend.ReleaseStep(ctx, key, step) })
}

func (s *fabricServer) Release(ctx context.Context, req *fabricv1.ReleaseRequest) (*fabricv1.ReleaseReply, error) {
	d := &decoder{}
	key := d.key(req.GetKey())
	return &fabricv1.ReleaseReply{}, d.then(ctx, func() error { return s.backend.Release(ctx, key) })
}

func (s *fabricServer) Collectives(ctx context.Context, _ *fabricv1.CollectivesRequest) (*fabricv1.CollectivesReply, error) {
	return answered(ctx, &decoder{}, s.backend.Collectives, encodeFabric)
}

type fabricClient struct {
	remote
	pb fabricv1.FabricClient
}

func (c *fabricClient) Reserve(ctx context.Context, key core.Key, n int) (core.Collective, error) {
	reply, err := c.pb.Reserve(ctx, &fabricv1.ReserveRequest{Key: encodeKey(key), Addresses: count(n)}, pluginBound...)
	return decoded(c.remote, "Reserve", err, func(d *decoder) core.Collective { return d.collective(reply.GetCollective()) })
}

func (c *fabricClient) ReleaseStep(ctx context.Context, key core.Key, step string) error {
	_, err := c.pb.ReleaseStep(ctx, &fabricv1.ReleaseStepRequest{Key: encodeKey(key), Step: utf(step)}, pluginBound...)
	return c.only("ReleaseStep", err)
}

func (c *fabricClient) Release(ctx context.Context, key core.Key) error {
	_, err := c.pb.Release(ctx, &fabricv1.ReleaseRequest{Key: encodeKey(key)}, pluginBound...)
	return c.only("Release", err)
}

func (c *fabricClient) Collectives(ctx context.Context) (core.Fabric, error) {
	reply, err := c.pb.Collectives(ctx, &fabricv1.CollectivesRequest{}, pluginBound...)
	return decoded(c.remote, "Collectives", err, func(d *decoder) core.Fabric { return d.fabric(reply) })
}

func encodeFabric(f core.Fabric) *fabricv1.CollectivesReply {
	return &fabricv1.CollectivesReply{Collectives: every(f.Collectives, encodeKey), Addresses: count(f.Addresses), Total: count(f.Total)}
}

func (d *decoder) fabric(p *fabricv1.CollectivesReply) core.Fabric {
	return core.Fabric{
		Collectives: each(d, "collectives", p.GetCollectives(), maxRuns, d.key),
		Addresses:   d.count("addresses", p.GetAddresses()), Total: d.count("addresses", p.GetTotal()),
	}
}
