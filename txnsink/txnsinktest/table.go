package txnsinktest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/xasink/xasink/txnsink"
	"github.com/xasink/xasink/txnsink/internal/coltype"
)

// value is what a row has in one column.
type value struct {
	text string
	null bool
}

// row has a value for each column of its table.
type row []value

// table is the content of one table. Rows have a name that no other has: their primary key, or a number where there is
// none.
type table struct {
	layout txnsink.Layout
	types  []coltype.Type
	key    []int       // columns of the primary key
	unique []uniqueKey // the primary key first

	rows  map[string]row     // committed
	locks map[string]*branch // by name of a row, who changes it
	next  uint64             // names rows of a table without a key
}

// primary is the name of every primary key.
const primary = "PRIMARY"

// uniqueKey is a key that no two rows have in common.
type uniqueKey struct {
	name    string
	columns []int
}

// slot is one row of one table, there or not.
type slot struct {
	table *table
	name  string
}

// newTable takes what it can of layout. What is wrong with it is told when a sink is opened.
func newTable(layout txnsink.Layout) *table {
	t := &table{layout: layout, rows: map[string]row{}, locks: map[string]*branch{}}
	for _, c := range layout.Columns {
		typ, err := coltype.Parse(c.Type)
		if err != nil {
			typ = coltype.Type{Text: c.Type}
		}
		t.types = append(t.types, typ)
	}
	if len(layout.Key) > 0 {
		t.key = t.positions(layout.Key)
		t.unique = append(t.unique, uniqueKey{primary, t.key})
	}
	for _, columns := range layout.Unique {
		t.unique = append(t.unique, uniqueKey{strings.Join(columns, "_"), t.positions(columns)})
	}
	return t
}

func (t *table) positions(columns []string) []int {
	var list []int
	for _, c := range columns {
		if i := t.position(c); i >= 0 {
			list = append(list, i)
		}
	}
	return list
}

func (t *table) position(column string) int {
	return slices.IndexFunc(t.layout.Columns, func(c txnsink.LayoutColumn) bool { return strings.EqualFold(c.Name, column) })
}

// entry is what r has in columns, as one text; null if one of them is NULL, which is equal to nothing.
func (r row) entry(columns []int) (text string, null bool) {
	var b strings.Builder
	for _, i := range columns {
		if r[i].null {
			return "", true
		}
		b.WriteString(strconv.Itoa(len(r[i].text)) + ":" + r[i].text)
	}
	return b.String(), false
}

// name is the name of r, a new one in a table without a key.
func (t *table) name(r row) string {
	if t.key == nil {
		t.next++
		return strconv.FormatUint(t.next, 10)
	}
	name, _ := r.entry(t.key)
	return name
}

// filled is the row that values make, as the table stores it. Columns without a value are NULL.
func (t *table) filled(values []txnsink.WrittenValue) (row, *refusal) {
	r := make(row, len(t.types))
	for i := range r {
		r[i].null = true
	}
	for _, v := range values {
		i := t.position(v.Column)
		if v.Null {
			continue
		}
		text, wrong := stored(t.types[i], v.Text)
		if wrong != nil {
			wrong.column = v.Column
			return nil, wrong
		}
		r[i] = value{text: text}
	}
	return r, nil
}

// overwritten is old with what values hold: added to, or replaced. The primary key is the same in both.
func (t *table) overwritten(old row, values []txnsink.WrittenValue) (row, *refusal) {
	given, wrong := t.filled(values)
	if wrong != nil {
		return nil, wrong
	}
	r := slices.Clone(old)
	for _, v := range values {
		i := t.position(v.Column)
		r[i] = given[i]
		if !v.Add {
			continue
		}
		if r[i].text, wrong = sum(t.types[i], old[i].text, given[i].text); wrong != nil {
			wrong.column = v.Column
			return nil, wrong
		}
	}
	return r, nil
}

// sorted are the committed rows in the order of the key, or in which they were written where there is none.
func (t *table) sorted() []row {
	names := make([]string, 0, len(t.rows))
	for n := range t.rows {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if t.key == nil {
			return compare(coltype.Type{Name: "bigint"}, a, b)
		}
		for _, i := range t.key {
			if c := compare(t.types[i], t.rows[a][i].text, t.rows[b][i].text); c != 0 {
				return c
			}
		}
		return 0
	})
	rows := make([]row, 0, len(names))
	for _, n := range names {
		rows = append(rows, t.rows[n])
	}
	return rows
}
