package agent

// ReadProcess is readProcess, for tests.
var ReadProcess = readProcess
