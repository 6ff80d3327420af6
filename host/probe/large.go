package probe

import (
	"context"
	"encoding/binary"
	"fmt"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/rpc"
)

// raw sends and takes bytes as they are.
type raw struct{}

// Marshal is gRPC's.
func (raw) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, fmt.Errorf("%T: only bytes are sent", v)
}

// Unmarshal is gRPC's.
func (raw) Unmarshal(data []byte, v any) error {
	if b, ok := v.(*[]byte); ok {
		*b = append((*b)[:0], data...)
		return nil
	}
	return fmt.Errorf("%T: only bytes are taken", v)
}

// Name is gRPC's: what a server takes the message for.
func (raw) Name() string { return "proto" }

// large asks for Info with one unknown field of that many bytes, which every decoder of protobuf skips.
func large(ctx context.Context, conn *grpc.ClientConn, bytes int) error {
	const field, length = 1000, 2 // its number, and the wire type of bytes
	ask := binary.AppendUvarint(nil, field<<3|length)
	ask = binary.AppendUvarint(ask, uint64(bytes))
	ask = append(ask, make([]byte, bytes)...)
	var reply []byte
	return conn.Invoke(ctx, "/"+rpc.PluginService+"/Info", &ask, &reply, grpc.ForceCodec(raw{}))
}
