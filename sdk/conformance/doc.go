// Package conformance is the suite that every plugin of Weft must pass. In a test of a plugin's own it is one line:
//
//	func TestConformance(t *testing.T) {
//		conformance.Test(t, func() any { return &driver{} }, conformance.Site{VNIs: conformance.TestVNIs})
//	}
//
// `weft plugin verify` runs the same cases against a plugin's program, on a node that may have jobs. A Case names the rule of docs/plugins.md that it
// holds the plugin to. What a plugin says that it cannot do is skipped, and the report says so.
//
// # What a run touches
//
// A driver's cases make services that name VNIs of Site.VNIs alone, for uids that no account has, and few of a NIC's resources. They remove only what they
// made, also when a case fails, panics or hangs; what cannot be removed is reported. A run does not begin when a service on a NIC names one of the VNIs
// already. An adapter's cases ask its scheduler about a job and a node that do not exist, and watch; a backend's reserve addresses under keys of their own
// and release them. What could harm a machine in use if a plugin is wrong is tried only where Site.Expendable says so.
package conformance
