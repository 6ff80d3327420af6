package core

// Scope says who is at fault. Only ScopeNode takes a node out of service: a refused user must never cost a site a node.
type Scope uint8

// The scopes of failures.
const (
	ScopeNone   Scope = iota // no job's failure: an operator's call, a programmer's mistake
	ScopeJob                 // the job asked for more than it may have
	ScopeSystem              // Weft cannot serve now; the job may come again
	ScopeNode                // this node is at fault
)

func (c Scope) String() string { return [...]string{"none", "job", "system", "node"}[min(int(c), 3)] }

// Reason says why a call failed, in one stable word.
type Reason string

// The reasons. docs/errors.md explains each; metrics count by them.
const (
	PolicyDenied Reason = "policy-denied"
	PolicyFault  Reason = "policy-fault"
	BadRequest   Reason = "bad-request"
	OverQuota    Reason = "over-quota"
	QuotaFull    Reason = "quota-full"
	BelowFloor   Reason = "below-floor"
	ClassMissing Reason = "class-missing"
	JobLimit     Reason = "job-limit"
	JobUnknown   Reason = "job-unknown"
	JobEnded     Reason = "job-ended"
	JobRelaunch  Reason = "job-relaunched"
	NotPlaced    Reason = "not-placed"
	NoRecord     Reason = "no-record"
	Observed     Reason = "observed"

	PoolEmpty     Reason = "pool-empty"
	ServerAway    Reason = "server-away"
	Recovering    Reason = "recovering"
	StoreFailed   Reason = "store-failed"
	SchedulerAway Reason = "scheduler-away"
	Blind         Reason = "scheduler-blind"
	Overloaded    Reason = "overloaded"
	TimedOut      Reason = "timed-out"
	NodeAway      Reason = "node-away"
	NodeDrained   Reason = "node-drained"
	NodeUnnamed   Reason = "node-unnamed"
	Cancelled     Reason = "cancelled"
	PluginAway    Reason = "plugin-away"

	NICMissing  Reason = "nic-missing"
	NICFailed   Reason = "nic-failed"
	NICShort    Reason = "nic-short"
	NICConflict Reason = "nic-conflict"
	ServiceBusy Reason = "service-busy"
	ServiceLeft Reason = "service-left"
	DriverAway  Reason = "driver-away"

	BadCall       Reason = "bad-call"
	NotAllowed    Reason = "not-allowed"
	Standby       Reason = "standby"
	NotThere      Reason = "not-there"
	NotSupported  Reason = "not-supported"
	BadConfig     Reason = "bad-config"
	BadVersion    Reason = "bad-version"
	StoreLocked   Reason = "store-locked"
	StoreCorrupt  Reason = "store-corrupt"
	StoreNewer    Reason = "store-newer"
	StoreMoved    Reason = "store-moved"
	InternalFault Reason = "internal"
)

// About explains a Reason.
type About struct {
	Reason Reason
	Code   Code
	Scope  Scope
	Mean   string // its meaning, in words
	Remedy string // the usual remedy; an Error may have its own
}

var reasons = []About{
	{PolicyDenied, Denied, ScopeJob,
		"a `deny` of the site's policy matched the job; the message is the policy's own",
		"ask for less, or ask the site's administrators, who find the `deny` by its name in the policy"},
	{PolicyFault, Denied, ScopeJob,
		"Weft cannot evaluate a rule of the policy for the job, so it denies the job",
		"an administrator must correct the rule that is named, and reload"},
	{BadRequest, Invalid, ScopeJob,
		"Weft does not understand the job's network options, or one of them is out of its range",
		"correct the option that is named and submit again"},
	{OverQuota, Denied, ScopeJob,
		"the job wants more than its quota ever allows, or its user, account, queue or scheduler holds all of it and " +
			"the quota has `on_full = \"refuse\"`",
		"ask for less, or wait for other jobs to end: `weft jobs` lists them"},
	{QuotaFull, Exhausted, ScopeSystem,
		"the job's user, account, queue or scheduler holds all that its quota allows, so the job waits for others to end",
		"`weft jobs` lists the jobs that hold it; an administrator can raise the quota, or let `on_full` refuse"},
	{BelowFloor, Exhausted, ScopeJob,
		"the NICs have less left than the floor that policy sets, or than a job with no_adjust_limits reserves, " +
			"because other jobs share the node",
		"ask for nodes without other jobs, or wait until those end"},
	{ClassMissing, Unsupported, ScopeJob,
		"the job asked for a traffic class that the QoS profile of a node's NICs lacks, so its traffic would fail",
		"ask for classes that the NICs have; `weft doctor` on the node tells administrators how to give them another"},
	{JobLimit, Denied, ScopeJob,
		"the user has as many jobs on this node as the local scheduler's `jobs_per_user` allows",
		"wait for one of them to end"},
	{JobUnknown, NotFound, ScopeJob,
		"the scheduler does not know this job: its id is wrong, or the scheduler has forgotten it",
		"check the id with the scheduler; on a node, check that the hook names the right scheduler"},
	{JobEnded, Conflict, ScopeJob,
		"this run of the job has ended; a late prepare gets nothing",
		"no action is needed; if the job still runs, `weft job ID` shows who reported its end"},
	{JobRelaunch, Unavailable, ScopeSystem,
		"the scheduler starts a run once more that is over in Weft; the job goes back into the queue, and starts as a " +
			"new run",
		"a batch job that can be requeued starts again by itself; submit another one again"},
	{NotPlaced, Denied, ScopeJob,
		"the scheduler has not placed the job on this node, so the node may not join it",
		"compare the scheduler's list of the job's nodes with `weft job ID`; if the names of a node differ, " +
			"set the scheduler's `alias` in config.hcl"},
	{NoRecord, NotFound, ScopeJob,
		"this node holds nothing for the job, so a task of it would run without isolation",
		"start the job again; if it recurs, look for the job's prepare in the agent's log, and check that the " +
			"scheduler runs Weft's prolog on this node"},
	{Observed, Denied, ScopeNone,
		"Weft only observes the job: its scheduler has `mode = \"observe\"` in config.hcl, or had it when the job " +
			"started",
		"no action is needed; `weft observe` shows what the job would have got"},
	{PoolEmpty, Exhausted, ScopeSystem,
		"every VNI of the pool is in use, held or in quarantine",
		"`weft vnis` shows who has them and why each is not free; free held ones by repairing their nodes, or " +
			"enlarge the pool in config.hcl"},
	{ServerAway, Unavailable, ScopeSystem,
		"the agent cannot reach the Weft server; running jobs do not notice, new ones wait",
		"check the server with `weft status` on its host, then the network between it and this node"},
	{Recovering, Unavailable, ScopeSystem,
		"the server's store is new, imported, outdated or unwitnessed; it grants nothing before " +
			"every node reports, since a VNI unknown to it may be in use",
		"`weft nodes` shows which are missing; `weft recover --without NODES` continues without those that are off"},
	{StoreFailed, Unavailable, ScopeSystem,
		"the server cannot write its store, so it grants nothing",
		"see the server's log; free space on its disk or repair the disk"},
	{SchedulerAway, Unavailable, ScopeSystem,
		"the scheduler does not answer questions about its jobs; Weft frees nothing until it does",
		"check that the scheduler's controller runs and that the server's host may ask it"},
	{Blind, Unavailable, ScopeSystem,
		"the scheduler may hide jobs of other users from Weft; Weft frees nothing of that scheduler",
		"run the server as a user who may see every job; the scheduler's page names the users and settings"},
	{Overloaded, Unavailable, ScopeSystem,
		"more calls wait than the bound allows",
		"try again in a moment; if it lasts, `weft status` shows what is slow"},
	{TimedOut, Timeout, ScopeSystem,
		"the work did not end within its time limit",
		"try again; if it recurs, `weft status` shows which part is slow"},
	{NodeAway, Unavailable, ScopeSystem,
		"the agent and the server have had no contact since one of them started",
		"check on the node that the agent runs and that it reaches the server"},
	{NodeDrained, Unavailable, ScopeSystem,
		"the node is drained in Weft and takes no new job",
		"`weft nodes` shows why; run `weft resume NODE` after the repair"},
	{NodeUnnamed, Denied, ScopeSystem,
		"`nodes` in config.hcl does not name the node, though the site's authority signed its certificate; the " +
			"node holds nothing and gets nothing",
		"add the node to `nodes` in config.hcl on the server's host and run `weft reload` there; otherwise " +
			"stop the node's agent and remove its certificate"},
	{NICShort, Exhausted, ScopeSystem,
		"a NIC has too little of a resource, even after Weft fitted the request",
		"`weft services` on the node shows who holds it; `weft clean` removes those that belong to no job"},
	{Cancelled, Unavailable, ScopeSystem,
		"a clean-up of the job, or the caller's own end, cancelled the prepare; Weft has removed its services",
		"no action is needed"},
	{PluginAway, Unavailable, ScopeSystem,
		"the plugin of a scheduler's hooks or of the fabric manager does not answer or does not start",
		"`weft plugin list` and the daemon's log show why it ended; Weft starts it again"},
	{NICMissing, Unavailable, ScopeNode,
		"the node has fewer NICs than its accepted inventory or than policy's `min_nics`",
		"`weft doctor` on the node shows them; repair the NIC or reboot the node; run `weft node accept NODE` " +
			"if the NIC will not come back"},
	{NICFailed, Unavailable, ScopeNode,
		"a NIC could not create, read or remove a service",
		"`weft doctor` on the node says which and why; look for it in the kernel's log; a reboot of the node " +
			"ends every service on it"},
	{NICConflict, Conflict, ScopeNode,
		"a service on the NIC differs from the one that Weft created, or another service holds a VNI of this job",
		"`weft doctor` on the node shows it; `weft clean` removes one that belongs to no job"},
	{ServiceBusy, Busy, ScopeNode,
		"an application still uses the service, or its queues have not drained",
		"end the application that holds it; the node keeps trying, and a reboot ends it for certain"},
	{ServiceLeft, Busy, ScopeNode,
		"Weft cannot remove a service, so its VNI stays held",
		"`weft doctor` on the node shows it and why; when nothing helps, reboot the node: its return frees the VNI"},
	{DriverAway, Unavailable, ScopeNode,
		"the NIC driver's plugin does not answer or start; after 5 s, or at once if it failed, the node is drained",
		"see the agent's log for why it ended; Weft starts it again"},
	{BadCall, Invalid, ScopeNone,
		"the call itself is wrong: an argument, a flag or a frame",
		"correct the part that is named; `weft help VERB` shows the form"},
	{NotAllowed, Denied, ScopeNone,
		"the caller, as the kernel or the certificate names it, may not do this",
		"run it as root, as a member of `admin_group`, or as the job's owner"},
	{Standby, Unavailable, ScopeNone,
		"this server does not lead; of several servers the leader alone changes anything",
		"run it on the host of the leader, which `weft status` names"},
	{NotThere, NotFound, ScopeNone,
		"there is no such job, node, VNI, pool or file",
		"check the name; `weft jobs`, `weft nodes` and `weft vnis` list all names"},
	{NotSupported, Unsupported, ScopeNone,
		"this plugin, this device or this release cannot do it",
		"see the plugin's page in the documentation for its abilities"},
	{BadConfig, Invalid, ScopeNone,
		"config.hcl or a policy file is wrong; a running daemon keeps the last good one",
		"correct the line that is named"},
	{BadVersion, Unsupported, ScopeNone,
		"the two sides speak different versions, more than one release apart",
		"upgrade in the order server, agents, hooks; `weft version` shows what each is"},
	{StoreLocked, Conflict, ScopeNone,
		"another process has the store open",
		"stop the process that is named, or use that server's socket"},
	{StoreCorrupt, Corrupt, ScopeNone,
		"the store's file is damaged; Weft does not guess its contents",
		"restore a backup with `weft store restore`, or move it away: the nodes' records bring live reservations back"},
	{StoreNewer, Unsupported, ScopeNone,
		"a newer release wrote the store",
		"run that release, or restore a backup of this one"},
	{StoreMoved, Conflict, ScopeNone,
		"`weft store copy` gave the store's part to another one, or has not ended: no server may use it",
		"name the other store in config.hcl, or run the same `weft store copy` again"},
	{InternalFault, Internal, ScopeSystem,
		"Weft is at fault",
		"report it, with the log's lines of this call"},
}

// about finds the reason in the table. An unknown one has the code Internal, no remedy, and ScopeSystem, which never
// drains a node. The table is short, and a map would cost each start of weft-hook.
func (r Reason) about() About {
	for i := range reasons {
		if reasons[i].Reason == r {
			return reasons[i]
		}
	}
	return About{Reason: r, Code: Internal, Scope: ScopeSystem}
}

// Reasons lists every Reason, for docs/errors.md.
func Reasons() []About { return append([]About(nil), reasons...) }

// Code of the reason; Internal for an unknown one.
func (r Reason) Code() Code { return r.about().Code }

// Scope of the reason; ScopeSystem for an unknown one.
func (r Reason) Scope() Scope { return r.about().Scope }

// Remedy is the usual remedy; empty for an unknown reason.
func (r Reason) Remedy() string { return r.about().Remedy }
