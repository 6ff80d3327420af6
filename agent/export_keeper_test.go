package agent

// ReadProcess is readProcess, for tests.
var ReadProcess = readProcess

// AwaitEnd is awaitEnd, for tests.
var AwaitEnd = awaitEnd
