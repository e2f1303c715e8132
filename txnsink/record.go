package txnsink

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// InsertStruct is Insert with the values of v, a struct or a pointer to one. A field with the tag `db:"column"` is that
// column's value; fields without a tag, and those tagged "-", are not written. Every written column needs a field, and
// every tag a column. Values are those that database/sql takes; a string in a numeric column is read as by Decimal.
func (b *Batch) InsertStruct(table string, v any) { b.addStruct(b.Insert(table), v) }

// UpsertStruct is Upsert with the values of v, as InsertStruct.
func (b *Batch) UpsertStruct(table string, v any) { b.addStruct(b.Upsert(table), v) }

// InsertMap is Insert with a value for each written column, by its name. A key that is no written column is an error,
// and so is a column without a key: NULL is nil. Values are those of InsertStruct.
func (b *Batch) InsertMap(table string, values map[string]any) { b.addMap(b.Insert(table), values) }

// UpsertMap is Upsert with values as for InsertMap.
func (b *Batch) UpsertMap(table string, values map[string]any) { b.addMap(b.Upsert(table), values) }

// planKey is what the fields of a struct depend on.
type planKey struct {
	of    reflect.Type
	table *table
}

// plan is where the values of a table's columns are in a struct.
type plan struct {
	fields  [][]int  // by column; nil: there is no field
	unknown []string // tags that are no written column
	twice   []string // columns that two fields of one depth have a value for
}

func (b *Batch) addStruct(r Row, v any) {
	t := b.rows[len(b.rows)-1].table
	if t == nil {
		return
	}
	value := reflect.ValueOf(v)
	for value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		b.dropRow(t, fmt.Errorf("%T is neither a struct nor a pointer to one", v))
		return
	}
	key := planKey{value.Type(), t}
	p, known := b.plans[key]
	if !known {
		p = planOf(value.Type(), t)
		if b.plans == nil {
			b.plans = map[planKey]plan{}
		}
		b.plans[key] = p
	}
	if len(p.unknown) > 0 {
		b.problem(t.name, "", fmt.Errorf("%T has values for %s, which are no written columns (there are %s)",
			v, strings.Join(p.unknown, ", "), columnNames(t.columns)))
	}
	if len(p.twice) > 0 {
		b.problem(t.name, p.twice[0], fmt.Errorf("%T has two fields for %s", v, strings.Join(p.twice, ", ")))
	}
	for i := range t.columns {
		if p.fields[i] == nil {
			r.refuse(&t.columns[i], fmt.Errorf("%T has no field with the tag db:%q", v, t.columns[i].name))
			continue
		}
		field, err := value.FieldByIndexErr(p.fields[i])
		if err != nil { // an embedded pointer is nil
			r.Null()
			continue
		}
		r.any(field.Interface())
	}
}

func planOf(of reflect.Type, t *table) plan {
	p := plan{fields: make([][]int, len(t.columns))}
	for _, f := range reflect.VisibleFields(of) {
		tag, _, _ := strings.Cut(f.Tag.Get("db"), ",")
		if tag == "" || tag == "-" || !f.IsExported() {
			continue
		}
		i := slices.IndexFunc(t.columns, func(c column) bool { return strings.EqualFold(c.name, tag) })
		switch {
		case i < 0:
			p.unknown = append(p.unknown, tag)
		case p.fields[i] == nil || len(f.Index) < len(p.fields[i]): // the outer one hides the embedded one
			p.fields[i] = f.Index
		case len(f.Index) == len(p.fields[i]):
			p.twice = append(p.twice, t.columns[i].name)
		}
	}
	return p
}

func (b *Batch) addMap(r Row, values map[string]any) {
	t := b.rows[len(b.rows)-1].table
	if t == nil {
		return
	}
	found := 0
	for i := range t.columns {
		c := &t.columns[i]
		v, ok := values[c.name]
		if !ok {
			r.refuse(c, errors.New("the map has no such key: for NULL, give nil"))
			continue
		}
		found++
		r.any(v)
	}
	if found == len(values) {
		return
	}
	var unknown []string
	for k := range values {
		if !slices.ContainsFunc(t.columns, func(c column) bool { return c.name == k }) {
			unknown = append(unknown, k)
		}
	}
	slices.Sort(unknown)
	b.problem(t.name, "", fmt.Errorf("the map has keys %s, which are no written columns (there are %s)", strings.Join(unknown, ", "), columnNames(t.columns)))
}

// dropRow gives the last row refused values for all its columns.
func (b *Batch) dropRow(t *table, err error) {
	b.problem(t.name, "", err)
	for range t.columns {
		b.value(kindRefused)
	}
}

// any gives a value of one of the types that database/sql takes, or of one made of them.
func (r Row) any(v any) {
	c := r.column()
	if c == nil {
		return
	}
	switch v := v.(type) {
	case nil:
		r.Null()
	case time.Time:
		r.Time(v)
	case time.Duration:
		r.Duration(v)
	case json.RawMessage:
		r.JSON(v)
	case json.Number:
		r.Decimal(string(v))
	case driver.Valuer:
		if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
			r.Null()
			return
		}
		inner, err := v.Value()
		if err != nil {
			r.refuse(c, fmt.Errorf("%T gives no value: %w", v, err))
			return
		}
		if _, again := inner.(driver.Valuer); again {
			r.refuse(c, fmt.Errorf("%T gives %T, which is no plain value", v, inner))
			return
		}
		r.any(inner)
	default:
		r.kind(c, reflect.ValueOf(v))
	}
}

// kind gives a value by the kind of its type.
func (r Row) kind(c *column, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			r.Null()
			return
		}
		r.any(v.Elem().Interface())
	case reflect.Bool:
		r.Bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		r.Int64(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		r.Uint64(v.Uint())
	case reflect.Float32:
		// By its shortest digits: widened to 64 bits, 0.1 would be 0.10000000149011612.
		f, err := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64)
		if err != nil {
			f = v.Float()
		}
		r.Float64(f)
	case reflect.Float64:
		r.Float64(v.Float())
	case reflect.String:
		if takes[c.class]&giveText == 0 && takes[c.class]&giveDecimal != 0 {
			r.Decimal(v.String())
			return
		}
		r.String(v.String())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.IsNil() { // as database/sql has it
				r.Null()
				return
			}
			if takes[c.class]&giveBytes == 0 && takes[c.class]&giveDecimal != 0 {
				r.Decimal(string(v.Bytes()))
				return
			}
			r.Bytes(v.Bytes())
			return
		}
		fallthrough
	default:
		r.refuse(c, fmt.Errorf("a value of type %s is of no type that the server has: give one of the types of database/sql, or use the batch's own methods", v.Type()))
	}
}
