#!/bin/sh
# Writes the Go code and the descriptor set of the .proto files anew. It needs protoc 3.21 or newer, protoc-gen-go v1.36.12 and protoc-gen-go-grpc v1.6.2.
set -eu
cd "$(dirname "$0")"
PATH="$PATH:$(go env GOPATH)/bin"
protoc -I . --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative weft/*/v1/*.proto
go test . -run "^TestPromise$" -update # refuses what breaks a promise
