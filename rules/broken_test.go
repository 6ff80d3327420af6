package rules

import (
	"strings"
	"testing"
	"testing/fstest"
)

// gomod begins every fixture.
const gomod = "module example.org/w\n\ngo 1.26\n\nrequire (\n\texample.org/dep/v2 v2.1.0\n)\n"

// spoken is a fixture's file that logs; its package has core/log.go beside it.
func spoken(body string) string {
	return "package a\n\nimport (\n\t\"log/slog\"\n\n\t\"example.org/w/core\"\n)\n\n" + body + "\n"
}

// broken are small trees that each break one rule, and their neighbours that keep it. want is a part of the complaint; "" means that the rule holds.
var broken = []struct {
	rule string
	path string
	text string
	want string
}{
	{"core imports nothing of Weft and nothing foreign", "core/a.go", imports("core", "example.org/w/core/engine"), "core imports ./core/engine"},
	{"core imports nothing of Weft and nothing foreign", "core/a.go", imports("core", "example.org/dep/v2"), "core imports example.org/dep/v2"},
	{"core imports nothing of Weft and nothing foreign", "core/a.go", imports("core", "fmt"), ""},
	{"core imports nothing of Weft and nothing foreign", "core/a_test.go", imports("core", "example.org/dep/v2"), ""},

	{"core/... imports the standard library and core only", "core/engine/a.go", imports("engine", "example.org/w/policy"), "core/engine imports ./policy"},
	{"core/... imports the standard library and core only", "core/engine/a.go", imports("engine", "example.org/dep/v2"), "core/engine imports example.org/dep/v2"},
	{"core/... imports the standard library and core only", "core/engine/a.go", imports("engine", "example.org/w/core/limits"), ""},

	{"core/... imports no os, net, sync, log, rand", "core/node/a.go", imports("node", "log/slog"), "imports log/slog"},
	{"core/... imports no os, net, sync, log, rand", "core/node/a.go", imports("node", "sync/atomic"), "imports sync/atomic"},
	{"core/... imports no os, net, sync, log, rand", "core/a.go", imports("core", "os"), "imports os"},
	{"core/... imports no os, net, sync, log, rand", "core/a.go", imports("core", "net/netip"), "imports net/netip"},
	{"core/... imports no os, net, sync, log, rand", "core/a.go", imports("core", "math/bits"), ""},
	{"core/... imports no os, net, sync, log, rand", "server/a.go", imports("server", "os"), ""},

	{"poll imports the standard library and core only", "poll/a.go", imports("poll", "example.org/w/server"), "poll imports ./server"},
	{"poll imports the standard library and core only", "poll/a.go", imports("poll", "example.org/w/core"), ""},

	{"hook imports the standard library, core and file only", "hook/a.go", imports("hook", "golang.org/x/sys/unix"), "hook imports golang.org/x/sys/unix"},
	{"hook imports the standard library, core and file only", "hook/a.go", imports("hook", "syscall"), ""},

	{"cmd/weft-hook imports hook and core only", "cmd/weft-hook/a.go", imports("main", "example.org/w/config"), "imports ./config"},
	{"cmd/weft-hook imports hook and core only", "cmd/weft-hook/a.go", imports("main", "example.org/w/core/engine"), "imports ./core/engine"},
	{"cmd/weft-hook imports hook and core only", "cmd/weft-hook/a.go", imports("main", "example.org/w/hook"), ""},
	{"cmd/weft-hook imports hook and core only", "cmd/weft-hook/a.go", imports("main", "example.org/w/hook/rundir"), ""},

	{"file imports the standard library only", "file/a.go", imports("file", "example.org/w/core"), "file imports ./core"},
	{"file imports the standard library only", "file/a.go", imports("file", "os"), ""},
	{"hook imports the standard library, core and file only", "hook/rundir/a.go", imports("rundir", "example.org/w/file"), ""},

	{"cmd/weft-hook reaches no net, no log", "cmd/weft-hook/a.go", imports("main", "net"), "cmd/weft-hook imports net"},
	{"cmd/weft-hook reaches no net, no log", "cmd/weft-hook/a.go", imports("main", "example.org/w/through/dialled"), "cmd/weft-hook imports ./through/dialled, which imports net"},
	{"cmd/weft-hook reaches no net, no log", "cmd/weft-hook/a.go", imports("main", "example.org/w/hook/listener"), "imports ./hook/listener"},
	{"cmd/weft-hook reaches no net, no log", "cmd/weft-hook/a.go", imports("main", "example.org/w/hook"), ""},
	{"cmd/weft-hook reaches no net, no log", "cmd/weft-hook/a_test.go", imports("main", "net"), ""},

	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "plugins/flux/a.go", imports("flux", "example.org/w/plugins/slurm"), "imports ./plugins/slurm"},
	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "plugins/flux/broker/a.go", imports("broker", "example.org/w/sdk"), "imports ./sdk"},
	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "drivers/cxi/a.go", imports("cxi", "example.org/w/drivers/sim/kernel"), "imports ./drivers/sim/kernel"},
	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "drivers/fm/a.go", imports("fm", "example.org/w/rpc"), "imports ./rpc"},
	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "plugins/flux/a.go", imports("flux", "example.org/w/plugins/flux/broker"), ""},
	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "plugins/flux/broker/a.go", imports("broker", "example.org/w/core/hostlist"), ""},
	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "plugins/pbs/a.go", imports("pbs", "example.org/dep/v2"), ""},

	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "plugins/pbs/a.go", imports("pbs", "example.org/w/people"), ""},
	{"plugins and drivers import core, poll, command, people, file, plan and their own subpackages only", "plugins/pbs/a.go", imports("pbs", "example.org/w/command"), ""},
	{"command and people import the standard library, core and each other only", "people/a.go", imports("people", "example.org/w/poll"), "people imports ./poll"},
	{"command and people import the standard library, core and each other only", "people/a.go", imports("people", "example.org/w/command"), ""},

	{"server and agent import no host, rpc, policy, config", "server/a.go", imports("server", "example.org/w/policy"), "server imports ./policy"},
	{"server and agent import no host, rpc, policy, config", "agent/a.go", imports("agent", "example.org/w/rpc/proto"), "agent imports ./rpc/proto"},
	{"server and agent import no host, rpc, policy, config", "agent/a.go", imports("agent", "example.org/w/through"), "agent imports ./through, which imports ./host"},
	{"server and agent import no host, rpc, policy, config", "server/a.go", imports("server", "example.org/w/store"), ""},

	{"a package named …test is imported by tests only", "daemon/a.go", imports("daemon", "example.org/w/plugins/pbs/pbstest"), "daemon imports ./plugins/pbs/pbstest"},
	{"a package named …test is imported by tests only", "daemon/a_test.go", imports("daemon", "example.org/w/plugins/pbs/pbstest"), ""},
	{"a package named …test is imported by tests only", "dev/schedulertest/a.go", imports("schedulertest", "example.org/w/plugins/pbs/pbstest"), ""},
	{"a package named …test is imported by tests only", "daemon/a.go", imports("daemon", "net/http/httptest"), ""},

	{"protobuf is in rpc only", "agent/a.go", imports("agent", "google.golang.org/protobuf/proto"), "agent imports google.golang.org/protobuf/proto"},
	{"protobuf is in rpc only", "store/a.go", imports("store", "example.org/w/rpc/proto"), "store imports ./rpc/proto"},
	{"protobuf is in rpc only", "rpc/a.go", imports("rpc", "google.golang.org/protobuf/proto"), ""},

	{"HCL is in hclfile, config and policy only", "host/a.go", imports("host", "github.com/hashicorp/hcl/v2/hclsyntax"), "host imports github.com/hashicorp/hcl"},
	{"HCL is in hclfile, config and policy only", "sdk/a.go", imports("sdk", "github.com/zclconf/go-cty/cty"), "sdk imports github.com/zclconf"},
	{"HCL is in hclfile, config and policy only", "policy/a.go", imports("policy", "github.com/hashicorp/hcl/v2"), ""},

	{"go-plugin is in host and sdk only", "cmd/weft/a.go", imports("main", "github.com/hashicorp/go-plugin"), "cmd/weft imports"},
	{"go-plugin is in host and sdk only", "sdk/a.go", imports("sdk", "github.com/hashicorp/go-plugin"), ""},

	{"only drivers/cxi loads a shared library", "drivers/sim/a.go", imports("sim", "github.com/ebitengine/purego"), "drivers/sim imports"},
	{"only drivers/cxi loads a shared library", "server/a.go", imports("server", "C"), "server imports C"},
	{"only drivers/cxi loads a shared library", "drivers/cxi/a.go", imports("cxi", "github.com/ebitengine/purego"), ""},

	{"core/... starts no goroutine", "core/engine/a.go", "package engine\n\nfunc f() {\n\tgo f()\n}\n", "core/engine/a.go:4: a go statement"},
	{"core/... starts no goroutine", "core/engine/a_test.go", "package engine\n\nfunc f() { go f() }\n", ""},
	{"core/... starts no goroutine", "server/a.go", "package server\n\nfunc f() { go f() }\n", ""},

	{"core/... never reads a clock", "core/node/a.go", "package node\n\nimport \"time\"\n\nvar x = time.Now()\n", "core/node/a.go:5: time.Now"},
	{"core/... never reads a clock", "core/node/a.go", "package node\n\nimport \"time\"\n\nvar now = time.Now\n", "time.Now"},
	{"core/... never reads a clock", "core/node/a.go", "package node\n\nimport t \"time\"\n\nvar x = t.NewTimer(0)\n", "time.NewTimer"},
	{"core/... never reads a clock", "core/node/a.go", "package node\n\nimport . \"time\"\n\nvar x = Now()\n", "dot import"},
	{"core/... never reads a clock", "core/node/a.go", "package node\n\nimport \"context\"\n\nvar f = context.WithTimeout\n", "context.WithTimeout"},
	{"core/... never reads a clock", "core/node/a.go", "package node\n\nimport \"time\"\n\nconst x = 5 * time.Minute\n", ""},
	{"core/... never reads a clock", "core/node/a.go", "package node\n\nimport \"time\"\n\nvar _ time.Duration\n\nfunc f(time struct{ Now int }) int { return time.Now }\n", ""},

	{"only host, command, dev and cmd/weft start processes", "server/a.go", imports("server", "os/exec"), "server imports os/exec"},
	{"only host, command, dev and cmd/weft start processes", "cmd/weft-hook/a.go", imports("main", "os/exec"), "cmd/weft-hook imports os/exec"},
	{"only host, command, dev and cmd/weft start processes", "agent/a.go", "package agent\n\nimport \"syscall\"\n\nvar f = syscall.Exec\n", "syscall.Exec"},
	{"only host, command, dev and cmd/weft start processes", "agent/a.go", "package agent\n\nimport \"golang.org/x/sys/unix\"\n\nvar f = unix.Exec\n", "unix.Exec"},
	{"only host, command, dev and cmd/weft start processes", "host/a.go", imports("host", "os/exec"), ""},
	{"only host, command, dev and cmd/weft start processes", "plugins/local/a.go", "package local\n\nimport \"syscall\"\n\nvar f = syscall.Exec\n", "syscall.Exec"},
	{"only host, command, dev and cmd/weft start processes", "people/a.go", imports("people", "os/exec"), "people imports os/exec"},
	{"only host, command, dev and cmd/weft start processes", "command/a.go", imports("command", "os/exec"), ""},
	{"only host, command, dev and cmd/weft start processes", "server/a_test.go", imports("server", "os/exec"), ""},

	{"no test sleeps", "server/a_test.go", "package server\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", "server/a_test.go:5: time.Sleep"},
	{"no test sleeps", "server/a_test.go", "package server\n\nimport (\n\t\"testing/synctest\"\n\t\"time\"\n)\n\nvar _ = synctest.Wait\n\nfunc f() { time.Sleep(1) }\n", ""},
	{"no test sleeps", "server/a.go", "package server\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", ""},

	{logKeyRule, "a/a.go", spoken("func f(log *slog.Logger) { log.Info(\"m\", core.LogJob, 1, \"node\", 2) }"), ""},
	{logKeyRule, "a/a.go", spoken("func f(log *slog.Logger) { log.Info(\"m\", core.LogJob, 1, \"nodes\", 2) }"), "a/a.go:9: a key that is none of core/log.go"},
	{logKeyRule, "a/a.go", spoken("func f(log *slog.Logger) { log.Info(\"m\", core.LogNone, 1) }"), "a key that is none"},
	{logKeyRule, "a/a.go", spoken("func f(log *slog.Logger, k string) { log.Info(\"m\", k, 1) }"), "a key that is none"},
	{logKeyRule, "a/a.go", spoken("func f(s struct{ log *slog.Logger }) { s.log.With(\"x\", 1).Info(\"m\") }"), "a key that is none"},
	{logKeyRule, "a/a.go", spoken("func f(s struct{ log *slog.Logger }) { s.log.With(core.LogJob, 1).Info(\"m\", \"x\", 1) }"), "a key that is none"},
	{logKeyRule, "a/a.go", spoken("func f() { slog.Info(\"m\", slog.Int(\"x\", 1)) }"), "a key that is none"},
	{logKeyRule, "a/a.go", spoken("func f() { slog.Info(\"m\", slog.Int(core.LogJob, 1)) }"), ""},
	{logKeyRule, "a/a.go", spoken("func f(log *slog.Logger) {\n\ta := []any{core.LogJob, 1}\n\ta = append(a, \"x\", 1)\n\tlog.Info(\"m\", a...)\n}"), "a/a.go:11"},
	{logKeyRule, "a/a.go", spoken("func g() []any { return []any{\"x\", 1} }\n\nfunc f(log *slog.Logger) { log.Info(\"m\", append(g(), core.LogJob, 1)...) }"), "a/a.go:9"},
	{logKeyRule, "a/a.go", spoken("func g(log *slog.Logger, a ...any) { log.Info(\"m\", a...) }\n\nfunc f(log *slog.Logger) { g(log, core.LogJob, 1, \"x\", 1) }"), "a/a.go:11"},
	{logKeyRule, "a/a.go", spoken("func g(log *slog.Logger, a []any) { log.Info(\"m\", a...) }\n\nfunc f(log *slog.Logger) { g(log, []any{core.LogJob, 1}) }"), ""},
	{logKeyRule, "a/a_test.go", spoken("func f(log *slog.Logger) { log.Info(\"m\", \"x\", 1) }"), ""},

	{"Prometheus is in metrics only", "server/a.go", imports("server", "github.com/prometheus/client_golang/prometheus"), "server imports github.com/prometheus"},
	{"Prometheus is in metrics only", "metrics/a.go", imports("metrics", "github.com/prometheus/client_golang/prometheus"), ""},

	{"every package has exactly one package comment", "a/a.go", "package a\n", "a: package a has no package comment"},
	{"every package has exactly one package comment", "a/a.go", "// Package a is it.\n\npackage a\n", "no package comment"},
	{"every package has exactly one package comment", "commented/b.go", "// Package commented again.\npackage commented\n", "is commented in commented/a.go, commented/b.go"},
	{"every package has exactly one package comment", "a/a.go", "// This is a.\npackage a\n", "does not begin with \"Package a \""},
	{"every package has exactly one package comment", "a/a_test.go", "package a\n", "has no package comment"},
	{"every package has exactly one package comment", "commented/b_test.go", "package commented\n", ""},
	{"every package has exactly one package comment", "cmd/x/a.go", "// x does it.\npackage main\n", ""},

	{"every file is as gofmt writes it", "a/a.go", "package a\nvar  x int\n", "a/a.go: run gofmt"},
	{"every file is as gofmt writes it", "a/a.go", "package a\n\nvar x int\n", ""},

	{"no file is longer than 400 lines", "a/a.go", "package a\n" + strings.Repeat("\n", 400), "a/a.go:401: it has 401 lines"},
	{"no file is longer than 400 lines", "a/a.go", "package a\n" + strings.Repeat("\n", 399), ""},
	{"no file is longer than 400 lines", "a/a.go", "// Code generated by x. DO NOT EDIT.\npackage a\n" + strings.Repeat("\n", 400), ""},
	{"no file is longer than 400 lines", "a/a_test.go", "package a\n" + strings.Repeat("\n", 400), ""},

	{"no package is named util, common, helpers, types, misc", "store/util/a.go", "package util\n", "store/util/a.go:1: package util"},
	{"no package is named util, common, helpers, types, misc", "helpers/x/a.go", "package x\n", "package x"},
	{"no package is named util, common, helpers, types, misc", "a/a.go", "package types\n", "package types"},
	{"no package is named util, common, helpers, types, misc", "store/bolt/a.go", "package bolt\n", ""},

	{"an interface of core has one to four methods", "core/a.go", "package core\n\ntype T interface {\n\tA()\n\tB()\n\tC()\n\tD()\n\tE()\n}\n", "core/a.go:3: interface core.T has 5 methods"},
	{"an interface of core has one to four methods", "core/engine/a.go", "package engine\n\ntype T interface{}\n", "interface engine.T has 0 methods"},
	{"an interface of core has one to four methods", "core/a.go", "package core\n\ntype T interface{ A(); B(); C(); D() }\n", ""},
	{"an interface of core has one to four methods", "core/a.go", "package core\n\ntype T interface{ ~int | ~string }\n", ""},

	{"no file names a developer's machine", "docs/a.md", "see /ro" + "ot/weft", "docs/a.md:1"},
	{"no file names a developer's machine", "a/a.go", "package a\n\nconst p = \"/wo" + "rk/main\"\n", "a/a.go:3"},
	{"no file names a developer's machine", ".ci/run", "cd /ho" + "me/ann/weft\n", ".ci/run:1"},
	{"no file names a developer's machine", "docs/a.md", "see .." + "/shared/x", "docs/a.md:1"},
	{"no file names a developer's machine", "docs/a.md", "see docs/work/x, /var/lib/weft and https://example.org/root/", ""},

	{"no file names a package registry", "Makefile", "GOPROXY=https://proxy.gol" + "ang.org", "Makefile:1"},
	{"no file names a package registry", "Makefile", "GOPROXY ?= direct", ""},

	{"nothing is left to do in the tree", "a/a.go", "package a // TO" + "DO: more\n", "a/a.go:1"},
	{"nothing is left to do in the tree", "docs/a.md", "FIX" + "ME", "docs/a.md:1"},
	{"nothing is left to do in the tree", "docs/a.md", "mktemp weft.XXXXXX to do", ""},

	{"every direct dependency is in docs/dependencies.md", "a/a.go", imports("a", "example.org/dep/v2/sub"), "example.org/dep/v2 is used and not in docs/dependencies.md"},
	{"every direct dependency is in docs/dependencies.md", "a/a_test.go", imports("a", "example.org/dep/v2"), "example.org/dep/v2 is used"},
	{"every direct dependency is in docs/dependencies.md", "a/a.go", imports("a", "example.org/other"), "no module of go.mod has example.org/other"},
	{"every direct dependency is in docs/dependencies.md", "docs/dependencies.md", "| `example.org/gone` | x |\n", "example.org/gone is not in go.mod"},
	{"every direct dependency is in docs/dependencies.md", "docs/dependencies.md", "| `example.org/dep/v2` | x |\n", ""},

	{"every folder has its line in CONTRIBUTING.md", "a/a.txt", "", "it does not say what a/ is"},
	{"every folder has its line in CONTRIBUTING.md", "CONTRIBUTING.md", "| `commented/`, `through/` | x |\n| `through/dialled/` | x |\n", ""},
	{"every folder has its line in CONTRIBUTING.md", "CONTRIBUTING.md", "| `commented/`, `through/` | x |\n",
		"it does not say what through/dialled/ is"},
	{"every folder has its line in CONTRIBUTING.md", "CONTRIBUTING.md", "`commented/` `through/`\n| `gone/` | x |\n",
		"there is no gone/"},

	{englishRule, "a/a.go", "package a\n\n// What is left stays.\nvar x int\n", "a/a.go:3: \"What is left stays.\""},
	{englishRule, "a/a.go", "package a\n\n// x holds what\n// is left, and its record stands in\n// the store.\nvar x int\n", "\"stands in\""},
	{englishRule, "a/a.go", "package a\n\n// x:\n//\n//\tnobody := 1\nvar x int\n", ""},
	{englishRule, "a/a.go", "package a\n\n// The users are `nobody` and root.\nvar x int\n", ""},
	{englishRule, "a/a.go", "// Code generated by x. DO NOT EDIT.\npackage a // nobody\n", ""},
	{englishRule, "a/a.go", "package a\n\nvar x = fmt.Errorf(\"user %s: nobody: %w\", u, e)\n", "a/a.go:3: \"nobody\""},
	{englishRule, "a/a.go", "package a\n\nvar x = core.Errorf(r, \"x\").WithRemedy(\"read it \" + \"anew\")\n", "\"anew\""},
	{englishRule, "a/a.go", "package a\n\nvar x = errors.New(\"read it anew\")\n", "\"anew\""},
	{englishRule, "a/a.go", "package a\n\nvar x = cobra.Command{Use: \"anew\", Long: `Read it.\n\nIt reads anew.`}\n", "It reads anew."},
	{englishRule, "a/a.go", "package a\n\nvar x = Finding{Kind: \"anew\", Remedy: \"read it anew\"}\n", "read it anew"},
	{englishRule, "a/a.go", "package a\n\nvar x = user(\"nobody\")\n", ""},
	{englishRule, "a/a_test.go", "package a\n\nvar x = fmt.Errorf(\"nobody\")\n", ""},
	{englishRule, "core/reason.go", "package core\n\nvar reasons = []About{{Away, \"nobody answers\"}}\n", "nobody answers"},
	{englishRule, "docs/a.md", "# Nobody\n", "docs/a.md:1: \"Nobody\""},
	{englishRule, "docs/a.md", "| a | b |\n|---|---|\n| x | written anew |\n", "docs/a.md:3: \"anew\""},
	{englishRule, "docs/a.md", "See [the rules\nabout](x/nobody.md) it.\n\n```\nnobody\n```\n", ""},
	{englishRule, "docs/a.md", words(30), ""},
	{englishRule, "docs/a.md", words(31), "a sentence of 31 words"},
	{englishRule, "docs/a.md", words(20) + " " + words(20), ""},
	{englishRule, "docs/a.md", "- " + words(20) + "\n- " + words(20), ""},
	{englishRule, "docs/a.md", strings.Repeat("x", 121), "docs/a.md:1: the line has 121 columns"},
	{englishRule, "docs/a.md", strings.Repeat("é", 120), ""},
	{englishRule, "a/a.txt", "nobody", ""},
	{helpRule, "cmd/weft/a.go", "package a\n\nvar x = cobra.Command{Short: \"Read it anew\"}\n", "cmd/weft/a.go:3: \"anew\""},
	{helpRule, "cmd/weft/a.go", help("Long: `It reads\nanew.`"), "\"anew\""},
	{helpRule, "cmd/weft/a.go", help("Long: `" + words(31) + "`"), "a sentence of 31 words"},
	{helpRule, "cmd/weft/a.go", help("Long: `" + words(20) + "\n\n" + words(20) + "`"), ""},
	{helpRule, "cmd/weft/a.go", help("Long: `x\n" + strings.Repeat("x", 81) + "`"), "a line of help has 81 columns"},
	{helpRule, "cmd/weft/a.go", "package a\n\nvar x = cli.Holder(\"anew\", \"Read it \" + \"anew\")\n", "\"anew\""},
	{helpRule, "cmd/weft/a.go", "package a\n\nfunc x() { c.Long = `Nobody` }\n", "\"Nobody\""},
	{helpRule, "cmd/weft/a.go", "package a\n\nfunc x() { c.Flags().StringVar(&v, \"anew\", \"\", \"x anew\") }\n", "\"x anew\""},
	{helpRule, "cmd/weft/a.go", "package a\n\nfunc x() { f.BoolVarP(&v, \"anew\", \"a\", false, \"read it\") }\n", ""},
	{helpRule, "cmd/weft/a_test.go", help("Long: `Nobody`"), ""},
	{helpRule, "a/a.go", help("Long: `Nobody`"), ""},
	{onceRule, "a/testdata/a.golden", "NIC cxi2: cannot create service: NIC cxi2: EIO\n", "a/testdata/a.golden:1: \"NIC cxi2\""},
	{onceRule, "a/testdata/a.txtar", "stderr '^server: Reserve: server: no answer$'\n", "\"server\""},
	{onceRule, "a/testdata/a.json", "{\"why\": \"NIC cxi1: open: NIC cxi1: EIO\"}\n", "\"NIC cxi1\""},
	{onceRule, "docs/a.md", "    weft: NIC cxi2: EIO: NIC cxi2: EIO\n", "\"NIC cxi2\""},
	{onceRule, "a/testdata/a.golden", "NIC cxi2: cannot create service: EIO\nNIC cxi2: EIO; NIC cxi2: EIO\n", ""},
	{listRule, later, "commented/a.go\n", "rules/english.txt:1: take commented/a.go off the list"},
	{listRule, later, "gone/\n", "rules/english.txt:1: take gone/ off the list"},
	{listRule, later, "old/\n", "take old/ off the list"},
	{listRule, later, "old/a.go\n", ""},
}

// words is a sentence of n words, each on its line.
func words(n int) string { return "One" + strings.Repeat("\nmore", n-1) + "." }

// help is a cobra command with one field.
func help(field string) string { return "package a\n\nvar x = cobra.Command{" + field + "}\n" }

func imports(pkg, path string) string {
	return "package " + pkg + "\n\nimport _ \"" + path + "\"\n"
}

func TestRulesCanFail(t *testing.T) {
	byName := map[string]rule{}
	for _, r := range rules {
		if _, twice := byName[r.name]; twice || r.why == "" {
			t.Errorf("rule %q: it stands twice or has no reason", r.name)
		}
		byName[r.name] = r
	}
	failed := map[string]bool{}
	for _, tt := range broken {
		r, ok := byName[tt.rule]
		if !ok {
			t.Fatalf("%q: there is no such rule", tt.rule)
		}
		tree := fstest.MapFS{
			"go.mod":               {Data: []byte(gomod)},
			"commented/a.go":       {Data: []byte("// Package commented is here.\npackage commented\n")},
			"through/a.go":         {Data: []byte("// Package through is here.\n" + imports("through", "example.org/w/host"))},
			"through/dialled/a.go": {Data: []byte("// Package dialled is here.\n" + imports("dialled", "net"))},
			tt.path:                {Data: []byte(tt.text)},
		}
		if tt.rule == logKeyRule {
			tree["core/log.go"] = &fstest.MapFile{Data: []byte("// Package core is here.\npackage core\n\nconst (\n\tLogJob  = \"job\"\n\tLogNode = \"node\"\n)\n")}
		}
		if tt.rule == listRule {
			tree["old/a.go"] = &fstest.MapFile{Data: []byte("// Package old is read by nobody.\npackage old\n")}
		}
		fixture, err := load(tree)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(r.check(fixture), "\n")
		if (tt.want == "") != (got == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s\n%s:\n%s\ngot:  %q\nwant: %q", tt.rule, tt.path, tt.text, got, tt.want)
		}
		failed[tt.rule] = failed[tt.rule] || tt.want != ""
	}
	for name := range byName {
		if !failed[name] {
			t.Errorf("rule %q: nothing shows that it can fail", name)
		}
	}
}
