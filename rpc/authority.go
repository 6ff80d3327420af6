package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/mailbox"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
)

// AuthorityService is the name of the server's wire service.
const AuthorityService = "weft.authority.v1.Authority"

// Bounds of one Attend on the server. More reports wait at the node. mailbox.Most bounds the orders.
const (
	reportsWaiting = 1           // and what fits into the connection's window; room is taken for each node, whether it tells anything or not
	lastOrders     = time.Second // that orders told before the end of a session have to go out
)

// ServeAuthority registers authority at a gRPC server. node tells which node calls, from the connection's certificate; it is the only word on that.
func ServeAuthority(to grpc.ServiceRegistrar, authority core.Authority, node func(ctx context.Context) (string, error)) {
	authorityv1.RegisterAuthorityServer(to, &authorityServer{authority: authority, node: node})
}

// NewAuthority is the server at the other end of conn. Its methods ignore the node they are given: the server takes that of the connection's certificate. An
// error is a *core.Error; Reason ServerAway when the server cannot be reached.
func NewAuthority(conn grpc.ClientConnInterface) core.Authority {
	return &authorityClient{pb: authorityv1.NewAuthorityClient(conn), remote: remote{who: "server", away: core.ServerAway}}
}

type authorityServer struct {
	authorityv1.UnimplementedAuthorityServer
	authority core.Authority
	node      func(ctx context.Context) (string, error)
}

// caller is the node of the certificate. A foreign error of node is a caller that is not known.
func (s *authorityServer) caller(ctx context.Context) (string, error) {
	node, err := s.node(ctx)
	if err == nil {
		err = core.CheckName("node", node, core.MaxNodeName)
	}
	if err == nil {
		return node, nil
	}
	if _, ok := errors.AsType[*core.Error](err); !ok {
		err = core.Errorf(core.NotAllowed, "node: who calls is not known: %w", err)
	}
	return "", outward(err)
}

func (s *authorityServer) Reserve(ctx context.Context, req *authorityv1.ReserveRequest) (*authorityv1.ReserveReply, error) {
	node, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	d := &decoder{}
	ask, peer := d.intent(req.GetIntent()), d.peer(req.GetPeer())
	peer.Node = node
	reserve := func(ctx context.Context) (core.Grant, error) { return s.authority.Reserve(ctx, node, ask, peer) }
	return answered(ctx, d, reserve, func(g core.Grant) *authorityv1.ReserveReply {
		return &authorityv1.ReserveReply{Grant: encodeGrant(g)}
	})
}

func (s *authorityServer) Await(ctx context.Context, req *authorityv1.AwaitRequest) (*authorityv1.AwaitReply, error) {
	node, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	several, ok := s.authority.(core.Succession)
	if !ok {
		return nil, outward(core.Errorf(core.NotSupported, "server: it is the only one of its site"))
	}
	d := &decoder{}
	seen := d.head(req.GetSeen())
	await := func(ctx context.Context) (core.Head, error) { return several.Await(ctx, node, seen) }
	return answered(ctx, d, await, func(h core.Head) *authorityv1.AwaitReply {
		return &authorityv1.AwaitReply{Head: encodeHead(h)}
	})
}

type attendServer = grpc.BidiStreamingServer[authorityv1.AttendRequest, authorityv1.AttendReply]

func (s *authorityServer) Attend(stream attendServer) error {
	node, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	a := attendance{node: node, stream: stream, reports: reports{gathering: gathering{most: maxForwarded}}}
	first, err := a.receive()
	switch {
	case errors.Is(err, io.EOF):
		return outward(core.Errorf(core.BadCall, "node %s: it told nothing", node))
	case err != nil:
		return outward(err)
	case !first.Full || first.Answer != nil || first.Reply != nil:
		return outward(core.Errorf(core.BadCall, "node %s: its first report is not a full one", node))
	}
	first.From = address(stream.Context())
	if err := a.attend(s.authority, first); err != nil {
		return outward(err)
	}
	return nil
}

// address is where the caller's connection comes from, without the port; empty if that is not known.
func address(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}

// attendance is one node's Attend on the server.
type attendance struct {
	node    string
	stream  attendServer
	reports reports
}

// receive gives the node's next report; io.EOF when it tells no more.
func (a *attendance) receive() (core.Report, error) {
	for {
		m, err := a.stream.Recv()
		if errors.Is(err, io.EOF) {
			return core.Report{}, err
		}
		if err != nil {
			return core.Report{}, core.Errorf(core.Cancelled, "node %s: its session broke: %w", a.node, err)
		}
		d := &decoder{}
		report, whole := a.reports.add(d, m)
		if d.err != nil {
			return core.Report{}, core.Errorf(core.BadCall, "node %s: %w", a.node, d.err)
		}
		if whole {
			return report, nil
		}
	}
}

func (a *attendance) attend(authority core.Authority, first core.Report) error {
	ctx, cancel := context.WithCancelCause(a.stream.Context())
	defer cancel(nil)
	next := make(chan core.Report, reportsWaiting)
	go func() { // ends with the stream, which ends with the handler
		defer close(next)
		for {
			report, err := a.receive()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				cancel(err)
				return
			}
			select {
			case next <- report:
			case <-ctx.Done():
				return
			}
		}
	}()
	down := mailbox.New(a.node, cancel)
	sent := make(chan struct{})
	go func() { // a Send that hangs ends with the stream too
		defer close(sent)
		if err := down.Deliver(a.send); err != nil {
			cancel(core.Errorf(core.Cancelled, "node %s: its session broke: %w", a.node, err))
		}
	}()
	err := authority.Attend(ctx, a.node, first, next, down.Put)
	down.Close()
	if ctx.Err() != nil { // also where the node is told nothing more: next was closed as well, and Attend may have seen that first
		return core.AsError(context.Cause(ctx))
	}
	last := time.NewTimer(lastOrders)
	defer last.Stop()
	select {
	case <-sent:
	case <-ctx.Done():
	case <-last.C:
	}
	return err
}

func (a *attendance) send(o core.Orders) error {
	return a.stream.Send(&authorityv1.AttendReply{Orders: encodeOrders(o)})
}

type authorityClient struct {
	remote
	pb authorityv1.AuthorityClient
}

func (c *authorityClient) Reserve(ctx context.Context, _ string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	peer.Node = ""
	reply, err := c.pb.Reserve(ctx, &authorityv1.ReserveRequest{Intent: encodeIntent(ask), Peer: encodePeer(peer)}, authorityBound...)
	return decoded(c.remote, "Reserve", err, func(d *decoder) core.Grant { return d.grant(reply.GetGrant()) })
}

// Await implements core.Succession.
func (c *authorityClient) Await(ctx context.Context, _ string, seen core.Head) (core.Head, error) {
	reply, err := c.pb.Await(ctx, &authorityv1.AwaitRequest{Seen: encodeHead(seen)}, authorityBound...)
	return decoded(c.remote, "Await", err, func(d *decoder) core.Head { return d.head(reply.GetHead()) })
}

func (c *authorityClient) Attend(ctx context.Context, _ string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	within, cancel := context.WithCancelCause(ctx)
	stream, err := c.pb.Attend(within, authorityBound...)
	if err != nil {
		cancel(nil)
		return c.inward("Attend", err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if err := c.report(within, stream, first, next); err != nil {
			cancel(err)
		}
	}()
	err = c.orders(stream, told)
	over := within.Err() != nil
	cancel(nil)
	<-sent
	switch {
	case ctx.Err() != nil:
		return core.AsError(context.Cause(ctx))
	case over:
		return core.AsError(context.Cause(within))
	}
	return err
}

// report sends reports until there are no more.
func (c *authorityClient) report(ctx context.Context, stream authorityv1.Authority_AttendClient, report core.Report, next <-chan core.Report) error {
	for {
		for _, m := range encodeReport(report) {
			if err := stream.Send(m); errors.Is(err, io.EOF) {
				return nil // the stream is over: the receiver says why
			} else if err != nil {
				return c.inward("Attend", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case r, ok := <-next:
			if !ok {
				return c.only("Attend", stream.CloseSend())
			}
			report = r
		}
	}
}

// orders tells what the server wants until it ends the stream.
func (c *authorityClient) orders(stream authorityv1.Authority_AttendClient, told func(core.Orders)) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return c.inward("Attend", err)
		}
		d := &decoder{}
		orders := d.orders(m.GetOrders())
		if err := c.answer("Attend", d); err != nil {
			return err
		}
		told(orders)
	}
}
