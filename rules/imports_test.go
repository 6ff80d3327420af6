package rules

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// binding is a rule of who may import whom. Tests may import what they like.
type binding struct {
	name string
	why  string
	on   func(pkg string) bool       // whether it binds the package
	may  func(pkg, path string) bool // whether a bound package may import path; the repository's own are "./core/engine"
	deep bool                        // also through other packages of the repository
}

func in(roots ...string) func(string) bool {
	return func(pkg string) bool { return under(pkg, roots...) }
}

func but(roots ...string) func(string) bool {
	return func(pkg string) bool { return !under(pkg, roots...) }
}

// only lets a package have imports of the standard library and of roots.
func only(roots ...string) func(pkg, path string) bool {
	return func(_, path string) bool { return standard(path) || under(path, roots...) }
}

// never refuses roots.
func never(roots ...string) func(pkg, path string) bool {
	return func(_, path string) bool { return !under(path, roots...) }
}

var bindings = []binding{
	{
		name: "core imports nothing of Weft and nothing foreign",
		why:  "core is the words that everything shares, public and the same for every plugin author; what it imported, all would",
		on:   func(pkg string) bool { return pkg == "core" },
		may:  only(),
	},
	{
		name: "core/... imports the standard library and core only",
		why:  "core decides, server and agent do: a whole system runs in one goroutine of a test because nothing below core reaches outside",
		on:   in("core"),
		may:  only("./core"),
	},
	{
		name: "core/... imports no os, net, sync, log, rand",
		why:  "what happened goes in with the time, what to write and do comes out; effects, locks and chance would make histories that no seed repeats",
		on:   in("core"),
		may:  never("os", "net", "sync", "log", "syscall", "math/rand", "crypto/rand", "path/filepath"),
	},
	{
		name: "poll imports the standard library and core only",
		why:  "every scheduler adapter imports it, a third party's too",
		on:   in("poll"),
		may:  only("./core", "./poll"),
	},
	{
		name: "command and people import the standard library, core and each other only",
		why:  "every scheduler adapter may import them, a third party's too",
		on:   in("command", "people"),
		may:  only("./core", "./command", "./people"),
	},
	{
		name: "file imports the standard library only",
		why:  "weft-hook links it",
		on:   in("file"),
		may:  only(),
	},
	{
		name: "hook imports the standard library, core and file only",
		why:  "weft-hook is exec'd for every job on every node: each package more is milliseconds and pages at job start",
		on:   in("hook"),
		may:  only("./core", "./file", "./hook"),
	},
	{
		name: "cmd/weft-hook imports hook and core only",
		why:  "it is exec'd for every job on every node, statically linked and small",
		on:   in("cmd/weft-hook"),
		may:  func(_, path string) bool { return standard(path) || under(path, "./hook") || path == "./core" },
	},
	{
		name: "cmd/weft-hook reaches no net, no log",
		why:  "their start and their size are a good part of the time that a program as short as this one takes; who answers, in hook/listener, may have them",
		on:   in("cmd/weft-hook"),
		may:  never("net", "log", "crypto/tls", "crypto/x509", "./hook/listener"),
		deep: true,
	},
	{
		name: "plugins and drivers import core, poll, command, people, file, plan and their own subpackages only",
		why:  "a built-in plugin is written as a third party's is: it knows the contracts, and neither who runs it nor another plugin",
		on:   in("plugins", "drivers"),
		may: func(pkg, path string) bool {
			parts := strings.SplitN(pkg, "/", 3)
			self := "./" + strings.Join(parts[:min(2, len(parts))], "/")
			return !under(path, ".") || under(path, "./core", "./poll", "./command", "./people", "./file", "./plan") || len(parts) > 1 && under(path, self)
		},
	},
	{
		name: "server and agent import no host, rpc, policy, config",
		why:  "their needs are interfaces held as fields, so that both run in one process of a test without plugins, sockets and files",
		on:   in("server", "agent"),
		may:  never("./host", "./rpc", "./policy", "./config"),
		deep: true,
	},
	{
		name: "protobuf is in rpc only",
		why:  "the rest speaks core's types; a wire format that leaks can never change",
		on:   but("rpc"),
		may:  never("google.golang.org/protobuf", "github.com/golang/protobuf", "github.com/gogo/protobuf", "./rpc/proto"),
	},
	{
		name: "HCL is in hclfile, config and policy only",
		why:  "a plugin's block and a decision are plain data; the language of the files is nobody else's business",
		on:   but("hclfile", "config", "policy"),
		may:  never("github.com/hashicorp/hcl", "github.com/zclconf/go-cty"),
	},
	{
		name: "go-plugin is in host and sdk only",
		why:  "how a plugin is run is host's matter and sdk's; everything else sees a core interface",
		on:   but("host", "sdk"),
		may:  never("github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog"),
	},
	{
		name: "Prometheus is in metrics only",
		why:  "server and agent count through an interface of their own; how a site's monitoring reads it is one package's matter",
		on:   but("metrics"),
		may:  never("github.com/prometheus"),
	},
	{
		name: "only drivers/cxi loads a shared library",
		why:  "a foreign library brings its crashes and its linker; one plugin process may carry that, no daemon",
		on:   but("drivers/cxi"),
		may:  never("github.com/ebitengine/purego", "C", "plugin"),
	},
	{
		name: "a package named …test is imported by tests only",
		why:  "it stands in for something outside: product code that reaches it runs on a fake",
		on:   func(pkg string) bool { return !strings.HasSuffix(pkg, "test") },
		may:  func(_, path string) bool { return !under(path, ".") || !strings.HasSuffix(path, "test") },
	},
}

func importRules() []rule {
	out := make([]rule, 0, len(bindings))
	for _, b := range bindings {
		out = append(out, rule{b.name, b.why, func(t *tree) []string { return b.check(t) }})
	}
	return out
}

func (b binding) check(t *tree) []string {
	var broken []string
	for _, f := range t.files {
		if f.test || !b.on(f.pkg) {
			continue
		}
		for path, at := range t.imports(f) {
			if !b.may(f.pkg, path) {
				broken = append(broken, fmt.Sprintf("%s: %s imports %s", t.at(at), f.pkg, path))
			} else if b.deep {
				broken = append(broken, b.through(t, f.pkg, path, at)...)
			}
		}
	}
	slices.Sort(broken)
	return broken
}

// through follows an import of pkg into the repository's own packages.
func (b binding) through(t *tree, pkg, first string, at token.Pos) []string {
	graph := map[string]map[string]bool{}
	for _, f := range t.files {
		if f.test {
			continue
		}
		from := "./" + f.pkg
		if graph[from] == nil {
			graph[from] = map[string]bool{}
		}
		for path := range t.imports(f) {
			graph[from][path] = true
		}
	}
	var broken []string
	seen := map[string]bool{first: true}
	for way := [][]string{{first}}; len(way) > 0; way = way[1:] {
		last := way[0][len(way[0])-1]
		for _, path := range slices.Sorted(maps.Keys(graph[last])) {
			if seen[path] {
				continue
			}
			seen[path] = true
			next := append(slices.Clone(way[0]), path)
			if !b.may(pkg, path) {
				broken = append(broken, fmt.Sprintf("%s: %s imports %s", t.at(at), pkg, strings.Join(next, ", which imports ")))
				continue
			}
			way = append(way, next)
		}
	}
	return broken
}
