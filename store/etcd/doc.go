// Package etcd keeps the server's store in an etcd, which several servers share: one of them writes.
//
// All keys lie below a prefix of the system's own:
//
//	leader     who may write; this package compares it, and another writes it
//	log/N      a part of the log; N has 16 hexadecimal digits
//	page/NAME  the records of one page as they were after a part of the log, which it names
//
// etcd takes 128 operations in a transaction and 1.5 MiB in a request unless it is told otherwise, and a commit can have thousands of records.
// So a commit is one value, appended to the log in one transaction that compares who leads; a commit larger than a part is several parts, which count
// once the last is there. Records lie in pages by a checksum of their slot, since a page must fit a request too; a policy's text has a page of its
// own. The leader writes the pages anew when the log has grown as large as they are, a few at a time and beside commits, and then drops the parts of
// the log that each page has. A page is right by itself, whichever part of the log it was written after: Load lays the rest of the log over it. So
// nothing stops for a snapshot, and what etcd keeps stays below three times the records.
//
// Values end in a checksum of themselves and their key.
package etcd
