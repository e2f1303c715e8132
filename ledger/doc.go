// Package ledger keeps what a target server itself knows of a job: the job row, which fences sessions, and one proof
// row per branch, written inside the branch, so that a committed branch leaves proof.
//
// All tables lie in one database per server, because names of branches and owner marks are per server as well: two
// installations that use one job name must meet there. The database may be made by [Ledger.Create] or by hand from
// [Ledger.DDL].
//
// Rows of both tables are for machines and for people alike; nothing in them is secret.
package ledger
