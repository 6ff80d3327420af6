// Package observe keeps the account of jobs that Weft only looks at: what it would have given them, and what another
// manager gives.
//
// A job is judged once, when its scheduler first shows it running. VNIs and quotas are counted in a shadow, in which no
// VNI has a number. What another manager gives is read from NICs. A service names its user and no job, so a job is
// inferred from user, node and time.
package observe
