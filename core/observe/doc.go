// Package observe keeps the account of jobs that Weft only looks at: the grants that Weft would have made, and the
// services that another manager makes.
//
// A job is judged once, when its scheduler first shows it running. VNIs and quotas are counted in a shadow, in which no
// VNI has a number. Nodes read the other manager's services from their NICs. A service names its user and no job, so a
// job is inferred from user, node and time.
package observe
