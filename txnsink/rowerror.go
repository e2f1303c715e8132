package txnsink

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// RowError is a row that cannot be written, or a table that cannot take it. Its text names the table, the row's key,
// the column, the server's number and what to do.
type RowError struct {
	Table  string // as declared
	Row    int    // position in the batch, from 0; -1 if the server does not tell which row of a statement it was
	Column string // "" if it is not about one, or not known
	Key    string // primary key, "id=7, part='a'", shortened; the first few and the last of the statement if Row is -1
	Code   uint16 // the server's error number; 0 if it was found before anything was sent
	Err    error
}

func (e *RowError) Error() string {
	var s strings.Builder
	var about []string
	if e.Table != "" {
		about = append(about, "table "+e.Table)
	}
	switch {
	case e.Row >= 0 && e.Key != "":
		about = append(about, fmt.Sprintf("row %d of the batch (key %s)", e.Row, e.Key))
	case e.Row >= 0:
		about = append(about, fmt.Sprintf("row %d of the batch", e.Row))
	case e.Key != "":
		about = append(about, fmt.Sprintf("one of the rows with key %s", e.Key))
	}
	if e.Column != "" {
		about = append(about, "column "+e.Column)
	}
	s.WriteString(strings.Join(about, ", "))
	fmt.Fprintf(&s, ": %s", e.Err)
	if do := whatToDo[e.Code]; do != "" {
		s.WriteString(": " + do)
	}
	return s.String()
}

func (e *RowError) Unwrap() error { return e.Err }

// whatToDo is what a user can do about the errors that blame a row or its table. Numbers that are not here are not
// about rows. The numbers are those of the servers' error references; which of the two sends which was measured by
// this package's tests.
var whatToDo = map[uint16]string{
	1048: "give a value, or make the column nullable",
	1054: "the table was changed after the sink was opened; open it again",
	1062: "the row is there already, or comes twice; use Upsert where that is meant",
	1114: "make room for the table",
	1118: "the row is larger than the storage engine keeps; use smaller values",
	1136: "the table was changed after the sink was opened; open it again",
	1142: "grant the privilege to the sink's user",
	1143: "grant the privilege to the sink's user",
	1146: "the table was dropped after the sink was opened; create it, and open the sink again",
	1216: "write the parent row first",
	1217: "delete the child rows first",
	1264: "the number does not fit; use a larger type, or correct the value",
	1265: "the value does not fit the column's type; correct it",
	1292: "the value is not a valid one of the column's type; correct it",
	1364: "the table was changed after the sink was opened; give the column a default, or write it",
	1365: "correct the value",
	1366: "the value is not a valid one of the column's type or character set; correct it",
	1406: "the value is too long; widen the column, or shorten it",
	1411: "the value is not a valid one of the column's type; correct it",
	1441: "the time is out of range; correct it",
	1451: "delete or change the child rows first",
	1452: "write the parent row first",
	1525: "the value is not a valid one of the column's type; correct it",
	1526: "no partition takes the value; add one",
	1557: "the row is there already, or comes twice",
	1586: "the row is there already, or comes twice; use Upsert where that is meant",
	1644: "a trigger of the table refuses the row; correct it, or the trigger",
	1690: "the sum does not fit the column; use a larger type",
	1761: "the change of a parent row makes two child rows equal; correct them first",
	1762: "the change of a parent row makes two child rows equal; correct them first",
	3140: "the text is not a JSON document; correct it",
	3141: "the text is not a JSON document; correct it",
	3144: "the text is not in a character set that JSON can have",
	3146: "the text is not a JSON document; correct it",
	3147: "the text is not a JSON document; correct it",
	3157: "the JSON document is nested too deep",
	3819: "the value breaks a CHECK constraint; correct it",
	3854: "the text cannot be converted to the column's character set; correct it",
	3988: "the text cannot be converted to the column's character set; correct it",
	4025: "the value breaks a CHECK constraint; correct it",
}

// aboutTable are the numbers that no single row is to blame for.
var aboutTable = map[uint16]bool{1054: true, 1114: true, 1136: true, 1142: true, 1143: true, 1146: true, 1364: true}

// serverError is the server's number and text, if err has one.
func serverError(err error) (number uint16, text string, ok bool) {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return 0, "", false
	}
	return e.Number, e.Message, true
}

// failed says which row of b made s fail, as far as the server's error tells: a *RowError where a row or its table is
// at fault. err stays in the chain. An error that is not about rows (1205, 1213, a lost session) comes back as it is.
func (s statement) failed(b *Batch, err error) error {
	number, text, ok := serverError(err)
	if !ok || whatToDo[number] == "" {
		return err
	}
	e := &RowError{Table: s.table.name, Row: -1, Code: number, Column: s.columnIn(text), Err: err}
	if aboutTable[number] {
		return e
	}
	if i, found := s.rowIn(b, number, text); found {
		e.Row = i
		e.Key = b.keyOf(i)
	} else {
		e.Key = s.keys(b)
	}
	return e
}

var atRow = regexp.MustCompile(`at row (\d+)$`)

// rowIn is the row that the server's text tells of.
func (s statement) rowIn(b *Batch, number uint16, text string) (int, bool) {
	if len(s.rows) == 1 {
		return s.rows[0], true
	}
	if m := atRow.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n >= 1 && n <= len(s.rows) {
			return s.rows[n-1], true
		}
	}
	if number == 1062 || number == 1586 {
		return s.duplicateIn(b, text)
	}
	return 0, false
}

// columnIn is the column that the server's text names. Names stand in it unquoted, whatever they hold, and so do
// values: the last and longest place that fits is taken, since the servers put the column behind the value.
func (s statement) columnIn(text string) string {
	name, at := "", -1
	for _, c := range s.table.given(s.op) {
		for _, form := range []string{
			"olumn '" + c.name + "'",
			"Field '" + c.name + "'",
			"olumn '" + s.table.base + "." + c.name + "'",
			"`" + s.table.base + "`.`" + c.name + "`",
			"FOREIGN KEY (`" + c.name + "`",
			"CONSTRAINT `" + s.table.base + "." + c.name + "`", // MariaDB, a constraint of the column's own
		} {
			if i := strings.LastIndex(text, form); i > at || i == at && i >= 0 && len(c.name) > len(name) {
				name, at = c.name, i
			}
		}
	}
	return name
}

// duplicateIn is the row that has the values of "Duplicate entry '…' for key '…'". A key that is in several rows of the
// statement gives the first of them.
func (s statement) duplicateIn(b *Batch, text string) (int, bool) {
	entry, name, ok := cutLast(text, "' for key '")
	if !ok {
		return 0, false
	}
	_, entry, ok = strings.Cut(entry, "'")
	if !ok {
		return 0, false
	}
	name = strings.TrimSuffix(name, "'")
	for _, key := range s.table.unique {
		if name != key.name && name != s.table.base+"."+key.name || slices.Contains(key.at, -1) {
			continue
		}
		for _, i := range s.rows {
			if b.entryOf(i, key) == entry {
				return i, true
			}
		}
	}
	return 0, false
}

// entryOf is how the server shows a key in an error: values joined by hyphens.
func (b *Batch) entryOf(i int, key uniqueKey) string {
	r := b.rows[i]
	var s strings.Builder
	for n, at := range key.at {
		if n > 0 {
			s.WriteByte('-')
		}
		v := r.first + at
		switch b.kinds[v] {
		case kindNull, kindRefused:
			s.WriteString(nullText)
		case kindNumber:
			s.WriteString(r.table.columns[at].shown(string(b.stored(v))))
		case kindText, kindBytes:
			s.WriteString(unescape(b.stored(v)))
		}
	}
	return s.String()
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
