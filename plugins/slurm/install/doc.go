// Package install puts Weft's hooks into a Slurm site and takes them out again: it reads slurm.conf, finds what stands in the way, plans the lines and the
// hook files, and writes them so that a run that is killed leaves either the old file or the new one. It asks no daemon, and only
// Spank.Prove runs a command.
//
// Everything is computed from the text as it was before Weft: what Weft has put into a file is taken out in memory first. So writing twice changes nothing,
// a write that was cut short is completed by the next one, and a removal gives the very bytes back.
package install
