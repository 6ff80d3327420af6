package core

// The keys of all log lines. A site's tools find a thing under one name, from any part of Weft; a test in rules/
// allows no other key. A value is the plain spelling of the thing: a job is SCHEDULER/ID, with #GENERATION after a
// requeue, and VNIs are "1024,1030-1033".
const (
	LogJob       = "job"
	LogScheduler = "scheduler" // instance: its label in config.hcl
	LogVNI       = "vni"
	LogNode      = "node"
	LogNIC       = "nic"
	LogService   = "svc"    // service ids, in the order of nic
	LogReason    = "reason" // a Reason
	LogCall      = "call"   // one id from weft-hook to the driver

	LogAddress = "address" // of the other end of a connection
	LogAs      = "as"      // why the caller may: "root", "owner", "admin_group NAME"
	LogAudit   = "audit"   // true on lines of the audit that share the log
	LogCount   = "count"
	LogError   = "err"
	LogLeftOut = "left_out" // how many lines of this kind were left out since the previous one
	LogLimit   = "limit"
	LogOwner   = "owner" // uid whose job it is; LogUID is who calls
	LogPanic   = "panic"
	LogPhase   = "phase" // of a scheduler's hook
	LogPID     = "pid"
	LogPlugin  = "plugin" // kind and label
	LogPolicy  = "policy" // hash
	LogStep    = "step"   // of a job, in its scheduler's words

	LogConfig       = "config"        // hash of config.hcl's text
	LogConfigBefore = "config_before" // that of the one it replaced
	LogPolicyBefore = "policy_before" // hash of the policy that LogPolicy's replaced

	LogServer  = "server" // its name among several
	LogSocket  = "socket"
	LogStack   = "stack"
	LogStream  = "stream" // of a plugin: stdout or stderr
	LogTerm    = "term"   // of the server that leads: the epoch of its store
	LogTook    = "took"
	LogUID     = "uid"
	LogVerb    = "verb" // of an operator, or of a call to a driver or a scheduler
	LogVersion = "version"
	LogWait    = "wait"    // until the next try
	LogWhy     = "why"     // in words
	LogWitness = "witness" // revision of the store for which a standby vouches; 0: none does
)
