package election

import (
	"context"
	"errors"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// user proves to etcd who this server is, and does so again where a member has forgotten it. The client of etcd does so
// with the forgotten token, and never gets another (client/v3 3.7.3, refreshToken).
// It reads no changed password, either.
type user struct {
	name, file string
	turn       chan struct{} // has one where no call uses token
	token      string
}

func newUser(c config.Etcd) *user {
	u := &user{name: c.User, file: c.PasswordFile, turn: make(chan struct{}, 1)}
	u.turn <- struct{}{}
	return u
}

// password reads the file.
func (u *user) password() (string, error) {
	if d := file.Secret(u.file); d != nil {
		return "", core.Errorf(core.BadConfig, "etcd: password_file %s: %s", d.Path, d.Why).WithRemedy(d.Remedy)
	}
	text, err := file.Read(u.file, maxPassword)
	if err != nil {
		return "", core.Errorf(core.BadConfig, "etcd: password_file %s: %w", u.file, file.Bare(err))
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

func (u *user) options() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithPerRPCCredentials(u), grpc.WithChainUnaryInterceptor(u.call)}
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (u *user) RequireTransportSecurity() bool { return false }

// auth is the service that gives tokens.
const auth = "/etcdserverpb.Auth"

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (u *user) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	if slices.ContainsFunc(uri, func(s string) bool { return strings.HasSuffix(s, auth) }) {
		return nil, nil
	}
	token, err := u.now(ctx)
	if err != nil || token == "" {
		return nil, err
	}
	return map[string]string{rpctypes.TokenFieldNameGRPC: token}, nil
}

func (u *user) now(ctx context.Context) (string, error) {
	select {
	case <-u.turn:
		defer func() { u.turn <- struct{}{} }()
		return u.token, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// unknown are the errors of a token that is missing or forgotten.
var unknown = []error{rpctypes.ErrUserEmpty, rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision}

// call asks etcd, and once more with another token where it does not know that of the first time.
func (u *user) call(
	ctx context.Context, method string, ask, answer any, cc *grpc.ClientConn, next grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if strings.HasPrefix(method, auth) {
		return next(ctx, method, ask, answer, cc, opts...)
	}
	token, err := u.now(ctx)
	if err == nil {
		err = next(ctx, method, ask, answer, cc, opts...)
	}
	if !slices.ContainsFunc(unknown, func(e error) bool { return errors.Is(rpctypes.Error(err), e) }) {
		return err
	}
	if err := u.renew(ctx, cc, token); err != nil {
		return err
	}
	return next(ctx, method, ask, answer, cc, opts...)
}

// renew gets another token than old, unless another call has.
func (u *user) renew(ctx context.Context, cc *grpc.ClientConn, old string) error {
	select {
	case <-u.turn:
		defer func() { u.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if u.token != old {
		return nil
	}
	password, err := u.password()
	if err != nil {
		return err
	}
	got, err := pb.NewAuthClient(cc).Authenticate(ctx, &pb.AuthenticateRequest{Name: u.name, Password: password})
	if err != nil {
		return err
	}
	u.token = got.Token
	return nil
}
