package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/daemon/adapters"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/daemon/shadow"
	"github.com/weft-hpc/weft/hook"
	certs "github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/rpc"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	"github.com/weft-hpc/weft/server"
)

// What a caller gets of an operation.
const (
	yes  = "yes"
	no   = "no"
	part = "in part" // not what is private to the job's owner
	none = "–"       // there is nothing of it where this caller can reach
)

// The callers, in the order of the table's columns.
const (
	asRoot = iota
	asOwner
	asOther
	asAdmin
	asNode
	asOtherNode
	asExpired
	asPlain
	callers
)

var callerNames = [callers]string{
	"root", "the job's owner", "another user", "member of `admin_group`", "agent of the job's node", "agent of another node", "expired certificate", "no certificate",
}

// users is a row of a socket's operation: nothing of it is on the network.
func users(root, owner, other, admin string) [callers]string {
	return [callers]string{root, owner, other, admin, none, none, none, none}
}

// nodes is a row of an operation of the network. Users have no certificate: its key can be read by root alone, who can do what the node can.
func nodes(job, other string) [callers]string {
	return [callers]string{yes, no, no, no, job, other, no, no}
}

// operation is one thing that can be asked of Weft.
type operation struct {
	name   string
	verb   string
	body   func(*walk) any // nil: it has none
	allow  [callers]string
	absent bool // what body names is not there, so that who is allowed learns just that
	phase  bool // it is a hook's, whose reply says what came of it
	remote func(w *walk, who int) error
}

// entrance is where operations are asked.
type entrance struct {
	name, about string
	socket      func(*walk) string // nil: the network
	operations  []operation
}

func ofHook(phase string) func(*walk) any {
	return func(w *walk) any {
		in, _ := json.Marshal(local.Call{Job: w.job.Job})
		return core.HookCall{Scheduler: "local", Phase: phase, Stdin: in}
	}
}

func onNode(reason string) func(*walk) any {
	return func(*walk) any { return server.NodeArgs{Nodes: "n1", Reason: reason} }
}

func askAll(verb string) func(*walk) any {
	return func(*walk) any { return server.AskArgs{Verb: verb, Limit: time.Second} }
}

func noPlugin(*walk) any { return plugin.Args{Kind: "driver", Name: "none"} }

// ofNode are the operations of a node's two sockets.
func ofNode(root, owner, other, admin string) []operation {
	all := func(in [callers]string) [callers]string { // who cannot connect can do nothing
		if owner == no {
			return users(root, no, no, no)
		}
		return in
	}
	return []operation{
		{name: "prepare the job (`local`)", verb: "hook", body: ofHook(local.PhasePrepare), phase: true, allow: all(users(yes, yes, no, no))},
		{name: "read the job's environment in a hook", verb: "hook", body: ofHook(local.PhaseEnvironment), phase: true, allow: all(users(yes, yes, no, no))},
		{name: "clean up after the job (`local`)", verb: "hook", body: ofHook(local.PhaseCleanUp), phase: true, allow: all(users(yes, yes, no, no))},
		{name: "`weft env`: the job's", verb: "env", body: func(w *walk) any { return agent.EnvArgs{Scheduler: "local", Job: w.job.Job} }, allow: all(users(yes, yes, no, no))},
		{name: "`weft run`: a job of one's own", verb: "begin", body: func(*walk) any { return adapters.BeginArgs{} }, allow: all(users(yes, yes, yes, yes))},
		{name: "`weft run --user`: another's job", verb: "begin", body: func(w *walk) any { return adapters.BeginArgs{Wish: local.Wish{User: "nobody"}} }, allow: all(users(yes, no, no, no))},
		{name: "`weft services`", verb: "services", allow: all(users(yes, yes, yes, yes))},
		{name: "`weft doctor`", verb: "doctor", body: func(*walk) any { return agent.DoctorArgs{} }, allow: all(users(yes, no, no, no))},
		{name: "`weft clean`", verb: "clean", body: func(*walk) any { return agent.CleanArgs{DryRun: true} }, allow: all(users(yes, no, no, no))},
		{name: "`weft reload`", verb: "reload", allow: all(users(yes, no, no, no))},
		{name: "`weft plugin list`", verb: "plugins", allow: all(users(yes, yes, yes, yes))},
		{name: "`weft plugin restart`", verb: "restart-plugin", body: noPlugin, absent: true, allow: all(users(yes, no, no, no))},
		{name: "tell the audit of `weft agent bypass`", verb: daemon.VerbBypass, body: func(*walk) any { return daemon.BypassArgs{What: "a test"} }, allow: all(users(yes, no, no, no))},
	}
}

// doors are all operations of Weft: what is not here is not there.
var doors = []entrance{
	{
		name: "The server's socket", about: "`server.sock`, which every user of the server's host can connect to. Who calls is what the kernel says.",
		socket: func(w *walk) string { return w.d.socket() },
		operations: []operation{
			{name: "`weft status`", verb: "status", allow: users(yes, yes, yes, yes)},
			{name: "`weft jobs`", verb: "jobs", allow: users(yes, yes, yes, yes)},
			{name: "`weft job`: the job", verb: "job", body: func(w *walk) any { return server.JobArgs{Job: "local/" + w.job.Job} }, allow: users(yes, yes, part, yes)},
			{name: "`weft policy explain --live`: the job", verb: "explain", body: func(w *walk) any { return server.JobArgs{Job: "local/" + w.job.Job} }, allow: users(yes, yes, part, yes)},
			{name: "`weft vnis`", verb: "vnis", allow: users(yes, yes, yes, yes)},
			{name: "`weft nodes`", verb: "nodes", allow: users(yes, yes, yes, yes)},
			{name: "`weft forget`", verb: "forget", body: func(*walk) any { return server.JobArgs{Job: "local/n1.99"} }, absent: true, allow: users(yes, no, no, yes)},
			{name: "`weft drain`", verb: "drain", body: onNode("a test"), allow: users(yes, no, no, yes)},
			{name: "`weft resume`", verb: "resume", body: onNode(""), allow: users(yes, no, no, yes)},
			{name: "`weft recover`", verb: "recover", body: onNode(""), allow: users(yes, no, no, yes)},
			{name: "`weft node accept`", verb: "accept", body: onNode(""), allow: users(yes, no, no, yes)},
			{name: "`weft doctor` on the server's host", verb: daemon.VerbDoctor, allow: users(yes, no, no, yes)},
			{name: "`weft doctor --all`", verb: server.VerbAsk, body: askAll(agent.VerbDoctor), allow: users(yes, no, no, yes)},
			{name: "`weft services --all`", verb: server.VerbAsk, body: askAll(agent.VerbServices), allow: users(yes, no, no, yes)},
			{name: "`weft reload`", verb: "reload", allow: users(yes, no, no, yes)},
			{name: "`weft store backup`", verb: server.VerbBackup, allow: users(yes, no, no, yes)},
			{name: "`weft observe`", verb: server.VerbObserve, allow: users(yes, no, no, yes)},
			{name: "`weft policy apply --shadow`, its report too", verb: shadow.Verb, body: func(*walk) any { return shadow.Args{} }, allow: users(yes, no, no, yes)},
			{name: "`weft plugin list`", verb: "plugins", allow: users(yes, yes, yes, yes)},
			{name: "`weft plugin restart`", verb: "restart-plugin", body: noPlugin, absent: true, allow: users(yes, no, no, yes)},
		},
	},
	{
		name: "A node's socket for users", about: "`users.sock`, which every user of the node can connect to. `admin_group` means nothing on a node.",
		socket:     func(w *walk) string { return w.d.run("n1").UsersSocket() },
		operations: ofNode(yes, yes, yes, yes),
	},
	{
		name: "A node's socket for root", about: "`root.sock`, mode 0600, so that no user can be in the way of a scheduler's prolog.",
		socket:     func(w *walk) string { return w.d.run("n1").RootSocket() },
		operations: ofNode(yes, no, no, no),
	},
	{
		name: "The server's port for agents", about: "Mutual TLS 1.3, with certificates of the site's own authority. A node's name is what its certificate says, whatever a message says.",
		operations: []operation{
			{name: "join the job, and learn its grant", allow: nodes(yes, no), remote: (*walk).reserve},
			{name: "join the job with a note that places it on the caller's node too", allow: nodes(yes, no), remote: (*walk).reserveForged},
			{name: "tell that the job's node is clean", allow: nodes(yes, no), remote: (*walk).attend},
			{name: "ask whether another server leads", allow: nodes(yes, yes), remote: (*walk).await},
		},
	},
}

const permissionsHead = `# Who may do what

<!-- Made from the table in cmd/weft/permissions_test.go by "make golden"; a test tries every cell of it with real daemons and real users. -->

On a socket the kernel says who calls, on the network the certificate does; what a caller says of itself is asked nowhere. *The job* is one of a scheduler
of type ` + "`local`" + `, the only one whose users may prepare and clean up what is theirs; with every other scheduler root alone may. Who runs a daemon may
do what root may with it. A member of ` + "`admin_group`" + ` is a user whom the user database lists in that group: a process that only has the group, as after
newgrp(1), is another user. The server asks the database for a user at most
once a minute, so a change of the group counts after a minute at the latest. The audit says why somebody was let in. "in part" leaves out what is private to the job's owner; "–" means that nothing of the kind answers there.
`

// permissionsPage is docs/permissions.md as it should be.
func permissionsPage() string {
	var b strings.Builder
	b.WriteString(permissionsHead)
	for _, d := range doors {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| operation |", d.name, d.about)
		var columns []int
		for c := range callers {
			if slices.ContainsFunc(d.operations, func(o operation) bool { return o.allow[c] != none }) {
				columns = append(columns, c)
				fmt.Fprintf(&b, " %s |", callerNames[c])
			}
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
		for _, o := range d.operations {
			fmt.Fprintf(&b, "| %s |", o.name)
			for _, c := range columns {
				fmt.Fprintf(&b, " %s |", o.allow[c])
			}
			b.WriteByte('\n')
		}
		if len(columns) < callers {
			b.WriteString("\nNothing of this is on the network: the server's port refuses a certificate that is expired or of another authority, and whoever has none,\nand knows no such call from an agent.\n")
		}
	}
	return b.String()
}

func TestPermissionsPage(t *testing.T) {
	t.Parallel()
	const path = "../../docs/permissions.md"
	want := permissionsPage()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/permissions.md is not as `make golden` writes it: -want +got\n%s", diff)
	}
}

// TestPermissionsAreWhole sees that the table has every verb that a desk knows.
func TestPermissionsAreWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		door  int
		files []string
		form  string
	}{
		"server":               {0, []string{"../../server/verbs.go", "../../server/ask.go", "../../server/observe.go"}, `case ((?:"[a-z-]+"(?:, )?)+):|Verb\w*\s+= ("[a-z-]+")`},
		"more of the server's": {0, []string{"../../daemon/reload/reload.go", "../../daemon/plugin/verbs.go", "../../daemon/shadow/shadow.go", "../../daemon/doctor.go"}, `[vV]erb\w*\s+= ("[a-z-]+")`},
		"agent":                {1, []string{"../../agent/verbs.go"}, `case ((?:"[a-z-]+"(?:, )?)+):|Verb\w*\s+= ("[a-z-]+")`},
		"more of the agent's":  {1, []string{"../../daemon/adapters/node.go", "../../daemon/plugin/verbs.go", "../../daemon/guard.go", "../../daemon/reload/reload.go"}, `Handler\{("begin")|[vV]erb\w*\s+= ("[a-z-]+")`},
	} {
		found := map[string]bool{}
		for _, file := range c.files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(c.form).FindAllString(string(text), -1) {
				for _, word := range regexp.MustCompile(`"[a-z-]+"`).FindAllString(m, -1) {
					found[strings.Trim(word, `"`)] = true
				}
			}
		}
		if len(found) < 3 {
			t.Errorf("%s: %v: the sources look otherwise than this test knows", name, found)
		}
		for verb := range found {
			if !slices.ContainsFunc(doors[c.door].operations, func(o operation) bool { return o.verb == verb }) {
				t.Errorf("%s: verb %s is not in the table of who may do what", name, verb)
			}
		}
	}
	methods := 0
	for _, m := range authorityv1.Authority_ServiceDesc.Methods {
		methods++
		if !slices.Contains([]string{"Reserve", "Await"}, m.MethodName) {
			t.Errorf("call %s of agents is not in the table of who may do what", m.MethodName)
		}
	}
	for _, s := range authorityv1.Authority_ServiceDesc.Streams {
		methods++
		if s.StreamName != "Attend" {
			t.Errorf("call %s of agents is not in the table of who may do what", s.StreamName)
		}
	}
	if methods != 3 {
		t.Errorf("agents have %d calls", methods)
	}
}

// walk is one system in which everything is tried.
type walk struct {
	t     *testing.T
	d     *daemons
	users [asAdmin + 1]*person
	conns [callers]*grpc.ClientConn
	job   local.Entry
	note  local.Note
}

// TestPermissions tries every operation as every caller.
func TestPermissions(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can call as other users")
	}
	group, gid, member := someGroup(t)
	d := newDaemons(t, "2000-2050", group, "n1", "n2")
	d.nodes = []string{"n1"} // n2's agent is this test
	d.up()
	d.must(hook.Call(t.Context(), d.socket(), "recover", server.NodeArgs{Nodes: "n2"}, nil))
	w := &walk{t: t, d: d}
	// A process has the group without being listed, as after newgrp; one that is listed has another group.
	for i, id := range [][2]uint32{{0, 0}, {64001, 64001}, {64002, gid}, {member, 64003}} {
		w.users[i] = newPerson(t, id[0], id[1])
	}
	w.connect()
	tried := 0
	for _, place := range doors {
		for _, o := range place.operations {
			// The job's node comes last: what it tells is believed.
			for _, who := range []int{asRoot, asOwner, asOther, asAdmin, asOtherNode, asExpired, asPlain, asNode} {
				want := o.allow[who]
				tried++
				w.prepare()
				before := w.state()
				got := w.try(place, o, who)
				if got != want {
					t.Errorf("%s: %s: %s: it is %q, and the table says %q", place.name, o.name, callerNames[who], got, want)
				}
				if got == no || got == none {
					if diff := cmp.Diff(before, w.state()); diff != "" {
						t.Errorf("%s: %s: %s: it was refused, and did this all the same: -before +after\n%s", place.name, o.name, callerNames[who], diff)
					}
				}
			}
		}
	}
	t.Logf("%d cells", tried)
	log, err := os.ReadFile(d.path(theServer + ".log"))
	d.must(err)
	for _, form := range []string{`msg=grant .* uid=64001 .* as=owner`, `msg=drain .* uid=0 .* as=root`, fmt.Sprintf(`msg=drain .* uid=%d .* as="admin_group %s"`, member, group)} {
		if !regexp.MustCompile(form).Match(log) {
			t.Errorf("the audit has no line %s, which says why somebody was let in", form)
		}
	}
	if said := string(regexp.MustCompile(`msg=reload .* uid=64002 .*`).Find(log)); !strings.Contains(said, "reason=not-allowed") || strings.Contains(said, " as=") {
		t.Errorf("of one who was refused the audit says %q", said)
	}
}

// someGroup is a group of this machine's that root is not in, its gid, and the uid of a user whom the database lists in it.
func someGroup(t *testing.T) (string, uint32, uint32) {
	t.Helper()
	for _, name := range []string{"games", "mail", "lp", "bin", "daemon"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		g, err := user.LookupGroupId(u.Gid)
		gid, err1 := strconv.ParseUint(u.Gid, 10, 32)
		uid, err2 := strconv.ParseUint(u.Uid, 10, 32)
		if err == nil && err1 == nil && err2 == nil && gid != 0 && uid != 0 {
			return g.Name, uint32(gid), uint32(uid)
		}
	}
	t.Skip("this machine has none of the users who could be of admin_group")
	return "", 0, 0
}

// connect dials the server's port as each caller that comes over the network.
func (w *walk) connect() {
	w.t.Helper()
	// An authority does not care what it signed before: the expired certificate is n2's own of long ago.
	w.d.must(certs.IssueNode(w.d.path("tls"), "n2", time.Now().Add(-1000*24*time.Hour)))
	for who, dir := range map[int]string{asNode: "n1.tls", asOtherNode: "n2.tls", asExpired: "tls", asPlain: ""} {
		creds := insecure.NewCredentials()
		if dir != "" {
			name := "n2"
			if who == asNode {
				name = "n1"
			}
			source, err := certs.Open(w.d.path(dir), name)
			w.d.must(err)
			creds = credentials.NewTLS(source.Client("127.0.0.1"))
		}
		conn, err := grpc.NewClient(fmt.Sprintf("passthrough:///127.0.0.1:%d", w.d.port), grpc.WithTransportCredentials(creds))
		w.d.must(err)
		w.t.Cleanup(func() { conn.Close() })
		w.conns[who] = conn
	}
}

// begin makes the owner's process a job.
func (w *walk) begin() {
	w.t.Helper()
	a := w.users[asOwner].try(w.t, request{Socket: w.d.run("n1").UsersSocket(), Verb: "begin", Body: json.RawMessage("{}")})
	if a.Reason != "" {
		w.t.Fatalf("begin: %s", a.Error)
	}
	w.d.must(json.Unmarshal(a.Body, &w.job))
	w.note = w.job.Note
}

// prepare sees that the job has its services, whatever was tried before. One that was cleaned up is over, so another begins.
func (w *walk) prepare() {
	w.t.Helper()
	if len(w.d.services("n1")) == 2 || w.d.procs["n1"].ProcessState != nil {
		return
	}
	w.begin()
	body, err := json.Marshal(ofHook(local.PhasePrepare)(w))
	w.d.must(err)
	a := w.users[asOwner].try(w.t, request{Socket: w.d.run("n1").UsersSocket(), Verb: "hook", Body: body})
	if a.Reason != "" || len(w.d.services("n1")) != 2 {
		w.t.Fatalf("prepare: %s %s", a.Error, a.Body)
	}
}

// state is what nobody who is refused may change.
func (w *walk) state() any {
	w.t.Helper()
	rows, err := hook.List[server.VNIRow](w.t.Context(), w.d.socket(), "vnis", nil)
	w.d.must(err)
	type held struct {
		VNI   core.VNI
		State string
		Job   string
		Nodes []string
	}
	type state struct {
		Held     []held
		Drained  []string
		Services []core.Service
	}
	s := state{Services: w.d.services("n1")}
	for _, r := range rows {
		s.Held = append(s.Held, held{r.VNI, r.State, r.Job, r.Nodes})
	}
	all, err := hook.List[server.NodeRow](w.t.Context(), w.d.socket(), "nodes", nil)
	w.d.must(err)
	for _, n := range all {
		s.Drained = append(s.Drained, n.Drained)
	}
	return s
}

// try does an operation as a caller, and says what the caller got.
func (w *walk) try(place entrance, o operation, who int) string {
	w.t.Helper()
	switch {
	case who > asAdmin && o.remote == nil:
		return w.strange(o, who)
	case who > asAdmin:
		err := o.remote(w, who)
		if err == nil {
			return yes
		}
		switch r := core.AsError(err).Reason; r {
		case core.NotAllowed, core.NotPlaced, core.ServerAway:
			return no
		default:
			return fmt.Sprint(r, ": ", err)
		}
	case o.remote != nil:
		// What a user needs to be taken for the node.
		if a := w.users[who].try(w.t, request{File: w.d.path("n1.tls", "n1.key")}); a.Reason != "" {
			return no
		}
		return yes
	}
	r := request{Socket: place.socket(w), Verb: o.verb}
	if o.body != nil {
		body, err := json.Marshal(o.body(w))
		w.d.must(err)
		r.Body = body
	}
	a := w.users[who].try(w.t, r)
	switch {
	case a.Reason == core.NotAllowed, a.Reason == core.NoRecord:
		return no
	case o.absent && a.Reason == core.NotThere:
		return yes
	case a.Reason != "":
		return fmt.Sprint(a.Reason, ": ", a.Error)
	case o.phase:
		var reply core.HookReply
		w.d.must(json.Unmarshal(a.Body, &reply))
		if reply.Exit == 0 {
			return yes
		}
		if len(reply.Stdout) > 0 {
			return fmt.Sprintf("an error with output: %s", reply.Stdout)
		}
		for _, text := range []string{fmt.Sprint("it is not uid ", w.users[who].uid, "'s"), "holds nothing for it that uid"} {
			if strings.Contains(string(reply.Stderr), text) {
				return no
			}
		}
		return string(reply.Stderr)
	case o.verb == "job", o.verb == "explain":
		if full := w.users[asRoot].try(w.t, r); !bytes.Equal(full.Body, a.Body) {
			return part
		}
	}
	return yes
}

// strange asks the server's port for something that only a socket has.
func (w *walk) strange(o operation, who int) string {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	err := w.conns[who].Invoke(ctx, "/"+rpc.AuthorityService+"/"+o.verb, &emptypb.Empty{}, &emptypb.Empty{})
	switch code := status.Code(err); {
	case code == codes.Unimplemented && (who == asNode || who == asOtherNode), code == codes.Unavailable && (who == asExpired || who == asPlain):
		return none
	default:
		return fmt.Sprint(code, ": ", err)
	}
}

func (w *walk) reserve(who int) error { return w.join(who, w.note) }

func (w *walk) reserveForged(who int) error {
	forged := w.note
	forged.Hosts = []string{"n1", "n2"}
	return w.join(who, forged)
}

// join asks for the job's grant; who gets it must be told of the VNI that the job has.
func (w *walk) join(who int, note local.Note) error {
	text, err := note.Encode()
	if err != nil {
		return err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	key := core.Key{JobID: core.JobID{Scheduler: "local", Job: w.job.Job}}
	ask := core.Intent{Action: core.Prepare, Key: key, UID: note.UID, Note: text, Began: hook.Boottime(), Boot: strings.TrimSpace(string(boot)), Agent: "walk", Call: "walk"}
	if who == asNode || who == asOtherNode {
		w.replace(who)
		defer w.session(ctx, who, core.Report{Number: 1, Boot: ask.Boot, Agent: ask.Agent, Full: true, Devices: []string{"cxi0", "cxi1"}})()
	}
	grant, err := rpc.NewAuthority(w.conns[who]).Reserve(ctx, "n1", ask, core.Peer{UID: note.UID})
	if err == nil && len(grant.VNIs) != 1 {
		err = fmt.Errorf("the grant is %+v", grant)
	}
	return err
}

// replace ends the agent of the job's node where the caller takes its place. It would soon tell the truth, and no other
// process may call while its session lasts.
func (w *walk) replace(who int) {
	w.t.Helper()
	if who != asNode || w.d.procs["n1"].ProcessState != nil {
		return
	}
	w.d.kill("n1")
	w.d.until("the node is away", func() (bool, string) {
		rows, err := hook.List[server.NodeRow](w.t.Context(), w.d.socket(), "nodes", nil)
		return err == nil && rows[0].State == "away", fmt.Sprint(rows, err)
	})
}

// session is one of a node's, until the function that it gives is called. It waits until the server has the first report, or has refused it.
func (w *walk) session(ctx context.Context, who int, first core.Report) func() {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- rpc.NewAuthority(w.conns[who]).Attend(ctx, "n1", first, make(chan core.Report), func(core.Orders) {})
	}()
	var failed error
	w.d.until("the node's session", func() (bool, string) {
		select {
		case failed = <-done:
			return true, ""
		default:
		}
		rows, err := hook.List[server.NodeRow](w.t.Context(), w.d.socket(), "nodes", nil)
		i := 0
		if who == asOtherNode {
			i = 1
		}
		return err == nil && len(rows) == 2 && rows[i].State == "up", fmt.Sprint(rows, err)
	})
	return func() {
		cancel()
		if failed == nil {
			<-done
		}
	}
}

// await asks a site's only server, which says so to every node.
func (w *walk) await(who int) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	_, err := rpc.NewAuthority(w.conns[who]).(core.Succession).Await(ctx, "", core.Head{})
	if core.ReasonOf(err) == core.NotSupported {
		return nil
	}
	return err
}

// attend tells as the caller that the job's services are gone.
func (w *walk) attend(who int) error {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	w.replace(who)
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	report := core.Report{Number: 1, Boot: strings.TrimSpace(string(boot)), Full: true, Devices: []string{"cxi0", "cxi1"}, Held: []core.Held{{
		Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "local", Job: w.job.Job}}, Fingerprint: core.Fingerprint{UID: w.note.UID, Submitted: w.note.Submitted}}, State: core.HeldClean,
	}}}
	if who == asExpired || who == asPlain {
		return rpc.NewAuthority(w.conns[who]).Attend(ctx, "n1", report, make(chan core.Report), func(core.Orders) {})
	}
	defer w.session(ctx, who, report)()
	rows, err := hook.List[server.VNIRow](w.t.Context(), w.d.socket(), "vnis", nil)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if strings.HasSuffix(r.Job, w.job.Job) && slices.Contains(r.Nodes, "n1") {
			return core.Errorf(core.NotAllowed, "the server still takes n1 for unclean: %+v", r)
		}
	}
	return nil
}
