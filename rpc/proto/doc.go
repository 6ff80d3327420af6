// Package proto holds Weft's wire services as .proto files, a folder each, with the Go code that is made of them.
//
// A plugin in another language is made of these files alone. What a file has stays as it is for as long as its folder is named v1: fields, values and
// methods are added, never changed or removed. A test compares them with testdata/descriptors.binpb, which is what was promised.
package proto

//go:generate ./generate.sh
