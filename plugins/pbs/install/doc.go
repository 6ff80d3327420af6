// Package install puts Weft's hooks into a PBS site and takes them out again: the hook file, its configuration and the lines for qmgr. It writes files and
// asks qmgr what there is; what qmgr is to change, an administrator reads first and runs.
package install
