package xa

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// FormatID is the format id of every branch of ours. Together with both parts at their full length it makes our XIDs
// the maximum of MySQL's order of XIDs, which its crash recovery needs in order to find them when other format ids
// are in the binary log (server-facts.md, 0.4 and 1c). There is no setting to change it.
const FormatID = 2147483647

const (
	partSize  = 64
	padding   = "="
	prefix    = "xasink1:"
	maxJobLen = 40
)

// ID names one branch of ours. IDs are comparable and may key a map. Job must satisfy [CheckJob]; Epoch and Seq count
// from 1.
type ID struct {
	Job   string
	Epoch uint64 // number of the claim under which the branch was started
	Lane  uint32 // unique in the job
	Seq   uint64 // counts the branches of one lane in one epoch
}

// XID is a branch's name as the server has it, ours or not. GTRID and BQUAL hold raw bytes, at most 64 each.
type XID struct {
	Format int64
	GTRID  string
	BQUAL  string
}

// CheckJob tells whether name can be the name of a job: one to 40 of a-z, 0-9, dot, underscore and hyphen, the first
// one a letter or a digit. Capitals are refused because MySQL's lock names, which mark a job's owner, ignore case.
func CheckJob(name string) error {
	const rule = "want 1 to 40 characters of a-z 0-9 . _ - that begin with a letter or a digit"
	switch {
	case name == "":
		return fmt.Errorf("job name is empty: %s", rule)
	case len(name) > maxJobLen:
		return fmt.Errorf("job name %q has %d characters: %s", name, len(name), rule)
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return fmt.Errorf("job name %q: character %d (%q) is not allowed: %s", name, i+1, c, rule)
		}
	}
	return nil
}

// XID is the name that the server is given: format id 2147483647 and two parts of exactly 64 bytes.
func (id ID) XID() XID {
	return XID{
		Format: FormatID,
		GTRID:  pad(prefix + id.Job),
		BQUAL:  pad(id.qualifier()),
	}
}

func (id ID) qualifier() string {
	return fmt.Sprintf("e%d.w%d.s%d", id.Epoch, id.Lane, id.Seq)
}

// String is the form for people, `orders/e7.w2.s15`. [Parse] is its inverse.
func (id ID) String() string { return id.Job + "/" + id.qualifier() }

// Compare orders IDs by job, lane, epoch and seq, which within one job and lane is the order of START.
func (id ID) Compare(o ID) int {
	if c := strings.Compare(id.Job, o.Job); c != 0 {
		return c
	}
	switch {
	case id.Lane != o.Lane:
		return order(uint64(id.Lane), uint64(o.Lane))
	case id.Epoch != o.Epoch:
		return order(id.Epoch, o.Epoch)
	default:
		return order(id.Seq, o.Seq)
	}
}

func order(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Parse is the inverse of [ID.String].
func Parse(s string) (ID, error) {
	job, qualifier, ok := strings.Cut(s, "/")
	if !ok {
		return ID{}, fmt.Errorf("branch name %q: want JOB/eN.wN.sN", s)
	}
	if err := CheckJob(job); err != nil {
		return ID{}, fmt.Errorf("branch name %q: %w", s, err)
	}
	id, ok := parseQualifier(qualifier)
	if !ok {
		return ID{}, fmt.Errorf("branch name %q: %q is not of the form eN.wN.sN", s, qualifier)
	}
	id.Job = job
	return id, nil
}

// ID is the branch of ours that x names. false means that x is not ours, or not by this version's grammar: whoever
// sees it leaves it alone.
func (x XID) ID() (ID, bool) {
	if x.Format != FormatID || len(x.GTRID) != partSize || len(x.BQUAL) != partSize {
		return ID{}, false
	}
	name, ok := strings.CutPrefix(strings.TrimRight(x.GTRID, padding), prefix)
	if !ok || CheckJob(name) != nil {
		return ID{}, false
	}
	id, ok := parseQualifier(strings.TrimRight(x.BQUAL, padding))
	if !ok {
		return ID{}, false
	}
	id.Job = name
	return id, true
}

// SQL is x as the arguments of an XA statement: hex literals, since XIDs cannot be bound (server-facts.md, 2).
func (x XID) SQL() string {
	return "X'" + hex.EncodeToString([]byte(x.GTRID)) + "',X'" + hex.EncodeToString([]byte(x.BQUAL)) + "'," +
		strconv.FormatInt(x.Format, 10)
}

// String is the branch's own name where it is ours, else the three parts, quoted.
func (x XID) String() string {
	if id, ok := x.ID(); ok {
		return id.String()
	}
	return fmt.Sprintf("%q,%q,%d", x.GTRID, x.BQUAL, x.Format)
}

// parseQualifier reads eN.wN.sN, decimal without leading zeros, epoch and seq at least 1.
func parseQualifier(s string) (ID, bool) {
	e, rest, ok1 := strings.Cut(s, ".")
	w, q, ok2 := strings.Cut(rest, ".")
	if !ok1 || !ok2 {
		return ID{}, false
	}
	epoch, ok1 := parseNumber(e, "e", 64)
	lane, ok2 := parseNumber(w, "w", 32)
	seq, ok3 := parseNumber(q, "s", 64)
	if !ok1 || !ok2 || !ok3 || epoch == 0 || seq == 0 {
		return ID{}, false
	}
	return ID{Epoch: epoch, Lane: uint32(lane), Seq: seq}, true
}

func parseNumber(s, tag string, bits int) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, tag)
	if !ok || digits == "" || digits[0] == '0' && digits != "0" {
		return 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(digits, 10, bits)
	return n, err == nil
}

func pad(s string) string { return s + strings.Repeat(padding, partSize-len(s)) }
