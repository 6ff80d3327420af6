// Package etcd keeps the server's store in an etcd that several servers share. One of them writes.
//
// All keys lie below a prefix, which belongs to one system:
//
//	leader     who may write; this package compares it, and another writes it
//	head       written with each commit, which compares it: no commit is made twice, or after an unknown one; its value
//	           is the system that the store is of, by its authority
//	page/NAME  the records of one page as they were after a part of the log, which it names
//	part/N     a part of the log; N has 16 hexadecimal digits
//	probe      written once a second to see whether etcd takes writes, and to show that the leader lives
//	server/N   the word of server N about itself, for people
//	moved      the store was copied elsewhere, or a copy to it has not ended: no server may use it
//
// By default etcd takes 128 operations in a transaction and 1.5 MiB in a request, and a commit can have thousands of
// records. So a commit is one value, added to the log in one transaction that compares who leads. A larger commit is
// several parts, which count once the last is there.
//
// A checksum of its slot gives each record its page, since a page must fit a request too. The text of a policy has a
// page for itself. When the log has grown as large as the pages, the leader rewrites those that changed, a few at a
// time and between commits. Then it drops the parts of the log that each page has. A page is right by itself,
// whichever part it was written after: a reader lays the rest of the log over it. So nothing stops for a snapshot.
// The log is at most as large as the records, and the leader compacts old revisions of etcd.
//
// Values end in a checksum of themselves and their key.
package etcd
