// Package upgrade runs the last release together with the tree: servers, agents, hooks and plugins of both, with
// simulated NICs, each a process. It has tests only. They lie apart from those of e2e, which need a scheduler.
//
// testdata/releases lists the marks. git must have the commit of the last one; a shallow clone does not. Then the tests
// do not run, and the end of `make test` says so. Jobs come from `weft run` and from testdata/adapter, a scheduler's
// plugin that both releases build from one source.
//
// The promises of docs/upgrade.md, and the test that shows each:
//
//	a server serves agents of both releases, and an agent serves hooks of both        TestMixed
//	a plugin of one release serves a daemon of the other                              TestMixed, TestDriver *
//	`weft` of one release reads the daemons of the other                              TestMixed
//	a new server takes over the store of the old one, and the old one takes it back   TestThereAndBack
//	a new agent takes over the ledger of the old one, and the old one takes it back   TestThereAndBack
//	a store of a later release is refused with its way back, which leads there        TestNewerStore *
//	a system of several servers goes back to a release with one server                TestBackToOneServer *
//	an upgrade of all hosts under load fails no job                                   TestRolling, TestRollingServers *
//
// Those with a * run in a night alone.
package upgrade
