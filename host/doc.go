// Package host starts, watches, restarts and stops plugins, and gives each a facade that outlives its processes.
//
// A plugin is a program of its own (the default, and the only way for a third party's) or a value in the daemon behind a guard. Either way a caller holds a
// core interface whose calls always end: with the plugin's answer, or with an error that says why there is none. Calls that arrive while a plugin starts
// anew wait for it, for at most Limits.Patience.
//
// # When a call that changes a NIC ends
//
// An agent may believe that a Create or Destroy is over only when nothing more can come of it. So these two, and only these, do not return at the end of
// their context while the plugin is still at it. A process gets Limits.Grace more, is then killed, and the call answers when the process is dead. In the
// daemon nothing can be killed: the call answers when it has returned, and meanwhile the plugin shows as degraded. A process that the kernel does not let
// die (stuck in a NIC's system call) holds back the answer of that call and of no other: a new process serves the rest.
//
// # What a life is
//
// Every start has a new client, command and checksum; a clean environment; a private folder for its socket, emptied before; a process group of its own. The
// program dies with the daemon, whatever kills that: its standard input is a pipe that ends then, and the kernel kills it (PR_SET_PDEATHSIG). Its
// children end with it, also those that have left its process group: they are in its cgroup, or have its variable
// WEFT_PLUGIN_LIFE where there is none. It is configured before it is used, at every start.
package host
