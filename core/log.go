package core

// The keys of every log line: a site's tools find a thing under one name, whichever part of Weft speaks of it. A rule of the project's own keeps lines to
// them. A value is the thing's plain spelling: a job as SCHEDULER/ID (with #GENERATION after a requeue), VNIs as "1024,1030-1033".
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
	LogAudit   = "audit"   // true on lines of the audit that share the log
	LogCount   = "count"
	LogError   = "err"
	LogLeftOut = "left_out" // lines of this kind that were not written since the one before
	LogLimit   = "limit"
	LogOwner   = "owner" // uid whose job it is; LogUID is who calls
	LogPanic   = "panic"
	LogPhase   = "phase" // of a scheduler's hook
	LogPID     = "pid"
	LogPlugin  = "plugin" // kind and label
	LogPolicy  = "policy" // hash
	LogSocket  = "socket"
	LogStack   = "stack"
	LogStream  = "stream" // of a plugin: stdout or stderr
	LogTook    = "took"
	LogUID     = "uid"
	LogVerb    = "verb" // an operator's, or what was asked of a driver or a scheduler
	LogVersion = "version"
	LogWait    = "wait" // until it is tried again
	LogWhy     = "why"  // in words
)
