// Package rpc carries core's contracts over gRPC: for each service a facade, both of whose sides stand in one file. ServeNIC registers a core.NICDriver at
// a gRPC server, NewNIC makes a core.NICDriver of a connection, and so on; what is between them, protobuf and gRPC's statuses, is seen nowhere else.
//
// What comes in is bounded and checked before anything sees it: whatever bytes a peer sends, no value outside its range reaches a contract. Deadlines
// travel with the call, and a call whose deadline has passed is not begun. Every error is a *core.Error on both sides, with nothing of it lost.
package rpc
