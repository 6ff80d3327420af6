package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
)

// unit is a systemd unit, by section and key.
type unit map[string]map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy/systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	u, section := unit{}, ""
	for _, line := range strings.Split(string(text), "\n") {
		key, val, ok := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
			u[section] = map[string][]string{}
		case !ok || section == "":
			t.Errorf("%s: %q", name, line)
		default:
			u[section][key] = append(u[section][key], val)
		}
	}
	return u
}

func (u unit) one(section, key string) string {
	if v := u[section][key]; len(v) == 1 {
		return v[0]
	}
	return ""
}

// TestUnits compares the units with what the binary and its defaults expect.
func TestUnits(t *testing.T) {
	for name, verb := range map[string]string{"weft-server.service": "server", "weft-agent.service": "agent"} {
		u := readUnit(t, name)
		for key, want := range map[string]string{
			"Type": "notify", "WatchdogSec": "30", "Restart": "always", "KillMode": "mixed", "Delegate": "memory pids", "UMask": "0022", "RuntimeDirectoryMode": "0755",
			"RuntimeDirectoryPreserve": "yes", // the ledger must outlive a restart
			"ExecStart":                "/usr/bin/weft " + verb + " --config " + cli.DefaultConfig,
			"ExecReload":               "/usr/bin/weft --dir " + cli.DaemonDir + " reload",
		} {
			if got := u.one("Service", key); got != want {
				t.Errorf("%s: %s=%s, not %s", name, key, got, want)
			}
		}
		for _, key := range []string{"ExecStart", "ExecReload"} {
			parses(t, name, strings.Fields(u.one("Service", key))[1:])
		}
		if u.one("Unit", "StartLimitIntervalSec") != "0" {
			t.Errorf("%s: it gives up after a few starts", name)
		}
		// What a user, a node's NICs or a plugin's cgroup would be hidden by.
		for _, key := range []string{"PrivateUsers", "ProtectProc", "DynamicUser", "User", "PrivateNetwork", "ProtectControlGroups"} {
			if v := u.one("Service", key); v != "" {
				t.Errorf("%s: %s=%s", name, key, v)
			}
		}
	}
	agent, server := readUnit(t, "weft-agent.service"), readUnit(t, "weft-server.service")
	for _, key := range []string{"PrivateDevices", "DevicePolicy", "CapabilityBoundingSet", "ProtectKernelTunables"} {
		if v := agent.one("Service", key); v != "" {
			t.Errorf("the agent's %s=%s: it needs /dev/cxi*, /sys and CAP_SYS_ADMIN", key, v)
		}
	}
	for path, dir := range map[string]string{
		config.DefaultAgentDir: "/run/" + agent.one("Service", "RuntimeDirectory"), filepath.Dir(config.DefaultServerSocket): "/run/" + server.one("Service", "RuntimeDirectory"),
		filepath.Dir(config.DefaultStore):   "/var/lib/" + server.one("Service", "StateDirectory"),
		filepath.Dir(config.DefaultWitness): "/var/cache/" + server.one("Service", "CacheDirectory"),
	} {
		if path != dir {
			t.Errorf("the default is %s, and systemd makes %s", path, dir)
		}
	}
	mount := readUnit(t, "run-weft-agent-env.mount")
	where := mount.one("Mount", "Where")
	if where != rundir.Dir(config.DefaultAgentDir).Environs() || agent.one("Unit", "RequiresMountsFor") != where {
		t.Errorf("environments lie in %s; the mount is at %s, and the agent waits for %s", rundir.Dir(config.DefaultAgentDir).Environs(), where, agent.one("Unit", "RequiresMountsFor"))
	}
	if strings.ReplaceAll(strings.Trim(where, "/"), "/", "-")+".mount" != "run-weft-agent-env.mount" {
		t.Errorf("a unit of that name cannot mount %s", where)
	}
	options := strings.Split(mount.one("Mount", "Options"), ",")
	for _, want := range []string{"mode=0711", "nosuid", "nodev", "noexec"} { // the mode that the agent would give it
		if !slices.Contains(options, want) {
			t.Errorf("the mount's options are %v, without %s", options, want)
		}
	}
	if !slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, "size=") }) {
		t.Errorf("the mount's options are %v: it has no bound", options)
	}
}

// parses sees that weft has such a verb, with such flags.
func parses(t *testing.T, name string, args []string) {
	t.Helper()
	cmd, rest, err := newRoot().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.Runnable() {
		t.Errorf("%s: weft %v: %v", name, args, err)
	}
}

// agentStart is how long an agent of a busy node may take from systemd's start of it until it answers a hook. On an
// idle machine it takes less than half a second.
const agentStart = 3 * time.Second

// TestAgentRestart: each hook waits for an agent that systemd starts again, and a quarter of its limit is left then.
func TestAgentRestart(t *testing.T) {
	pause, err := time.ParseDuration(readUnit(t, "weft-agent.service").one("Service", "RestartSec"))
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range plugin.Builtins()[host.Scheduler] {
		made, err := plugin.Builtin(string(host.Scheduler), typ, typ)
		if err != nil {
			t.Fatal(err)
		}
		phased, ok := made.(core.Phased)
		if !ok {
			continue
		}
		if c, ok := made.(core.Configurable); ok {
			values := core.Values{}
			for _, f := range c.Schema().Fields {
				values[f.Name] = f.Default
			}
			if err := c.Configure(t.Context(), values); err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
		}
		phases, err := phased.Phases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range phases {
			if waits := hook.Away(p.Limit); p.Limit >= time.Second && waits < pause+agentStart {
				t.Errorf("%s %s: with a limit of %s, weft-hook waits %s for an agent that needs %s and RestartSec=%s", typ, p.Name, p.Limit, waits, agentStart, pause)
			}
		}
	}
}

// TestUnitsVerify asks systemd itself, where it is installed.
func TestUnitsVerify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed; TestUnits looks at the fields that matter")
	}
	weft, err := exec.LookPath("weft")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	all, _ := filepath.Glob("../../deploy/systemd/*")
	args := []string{"verify", "--man=no", "--recursive-errors=no"}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(to, []byte(strings.ReplaceAll(string(text), "/usr/bin/weft ", weft+" ")), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, to)
	}
	if len(all) != 3 {
		t.Errorf("units: %v", all)
	}
	if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestAlerts sees that alerts name metrics that there are, and that the documents and the rules say the same.
func TestAlerts(t *testing.T) {
	rules, err := os.ReadFile("../../deploy/prometheus/weft.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	exprs := regexp.MustCompile(`(?m)^ *- alert: (\w+)\n +expr: (?:>\n((?:.*\n)+?) +for: .*|(.*))$`)
	have := map[string]string{}
	for _, m := range exprs.FindAllStringSubmatch(string(rules), -1) {
		have[m[1]] = plain(m[2] + m[3])
	}
	if n := strings.Count(string(rules), "- alert:"); n < 6 || len(have) != n {
		t.Errorf("%d alerts, of which %d can be read", n, len(have))
	}
	for name, expr := range have {
		for _, metric := range regexp.MustCompile(`\bweft_\w+`).FindAllString(expr, -1) {
			if !strings.Contains(string(page), "| `"+metric+"` |") {
				t.Errorf("%s: there is no metric %s", name, metric)
			}
		}
	}
	said := exprs.FindAllStringSubmatch(string(page), -1)
	if n := strings.Count(string(page), "- alert:"); n < 6 || len(said) != n {
		t.Errorf("docs/metrics.md: %d alerts, of which %d can be read", n, len(said))
	}
	for _, m := range said {
		if want := plain(m[2] + m[3]); have[m[1]] != want {
			t.Errorf("%s: docs/metrics.md says %q, the rules %q", m[1], want, have[m[1]])
		}
	}
}
