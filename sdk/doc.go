// Package sdk is what the main package of a Weft plugin imports:
//
//	func main() { sdk.Serve(&driver{}) }
//
// Serve takes a value that implements any of core.NICDriver, core.FabricBackend, core.Hooks and core.Scheduler, and may implement core.Configurable,
// core.Checker and the optional contracts of Hooks and Scheduler. SchemaOf and Decode make a block of config.hcl of a Go struct. docs/plugins.md is the
// whole story.
package sdk
