package txnsink

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/xasink/xasink/txnsink/internal/coltype"
)

// Layout is what a server would tell of a table, for a [Writer] of one's own that has no server to read it from.
type Layout struct {
	// Name is "table" or "database.table", as in [Table].
	Name string
	// Columns that rows can have values for, in the table's order. Those that the server fills by itself, generated
	// ones and numbers given by AUTO_INCREMENT, are left out, and so is a key that is made of them.
	Columns []LayoutColumn
	// Key names the columns of the primary key, in its order; nil: none. They are never NULL.
	Key []string
	// Unique names the columns of every other unique key.
	Unique [][]string
	// References names the tables at the other end of foreign keys, as in Name.
	References []string
}

// LayoutColumn is a column of a [Layout].
type LayoutColumn struct {
	Name string
	// Type is the type as the server writes it, "decimal(12,2)". Types that a sink does not support are refused.
	Type     string
	Nullable bool
}

// FullName is the table with its database, "main" where Name has none: as [Lane], [WrittenRow], proof rows and decisions
// name it.
func (l Layout) FullName() string {
	if strings.Contains(l.Name, ".") {
		return l.Name
	}
	return layoutDatabase + "." + l.Name
}

// layoutDatabase is where tables are that are named without a database.
const layoutDatabase = "main"

// layoutPacket is the longest statement that rows are measured by: max_allowed_packet as servers have it by default
// (MySQL 8.4 manual 7.1.8).
const layoutPacket = 64 << 20

// layoutKey is the name that servers give a primary key.
const layoutKey = "PRIMARY"

// Schema is what a [Writer] of one's own knows of its tables: the declared ones, checked against their layouts. It does
// not change, and may be used by several goroutines.
type Schema struct {
	cfg     WriterConfig
	catalog *catalog
}

// WriterConfig is the writer's part of c, for [NewSchema]. run is the process run, for people; uuid.Nil is none.
func (c Config) WriterConfig(run uuid.UUID) WriterConfig { return c.writer(run) }

// NewSchema checks cfg, without what concerns the connection (DSN, Connector, Address), and its Tables against layouts,
// as [NewWriter] does it with a server. Every problem is in one *ConfigError. There may be more layouts than tables.
func NewSchema(cfg WriterConfig, layouts []Layout) (*Schema, error) {
	cfg = cfg.withDefaults()
	local := cfg
	local.DSN, local.Connector = "/", nil
	found := local.problems()
	l := layoutLoader{
		loader:  loader{session: session{database: layoutDatabase, foldNames: false}, seen: map[string]string{}},
		layouts: map[string]Layout{},
	}
	for _, layout := range layouts {
		l.add(layout)
	}
	l.edges = l.references()
	c := &catalog{byName: map[string]*table{}, maxPacket: layoutPacket}
	for i, declared := range cfg.Tables {
		if t := l.table(i, declared); t != nil {
			c.tables = append(c.tables, t)
			c.byName[t.name] = t
		}
	}
	c.lanes = lanesOf(c.tables)
	if n := len(c.lanes); n > cfg.MaxPending {
		l.problems = append(l.problems, fmt.Sprintf("MaxPending is %d: want at least the number of lanes, %d", cfg.MaxPending, n))
	}
	if err := problems(append(found, l.problems...)); err != nil {
		return nil, err
	}
	zone, err := location(cfg.TimeZone)
	if err != nil {
		return nil, err
	}
	c.zone, c.fixed = zone, hasOneOffset(zone)
	return &Schema{cfg: cfg, catalog: c}, nil
}

// Config is the checked configuration, with all defaults filled in.
func (s *Schema) Config() WriterConfig { return s.cfg }

// Lane is a lane of a writer: the tables whose rows share one branch at a time.
type Lane struct {
	Number uint32   // in XIDs and decisions
	Tables []string // full names
	// Splittable: a flush signal, or a full segment, may prepare the lane's rows before the checkpoint. On attached
	// servers no lane is split, whatever this says.
	Splittable bool
	// MaxSegmentRows closes a segment: the least of the writer's and its tables' own.
	MaxSegmentRows int64
}

// Lanes are the lanes in the order of the configuration: one a table, but tables that foreign keys tie share one.
func (s *Schema) Lanes() []Lane {
	lanes := make([]Lane, 0, len(s.catalog.lanes))
	for i, tables := range s.catalog.lanes {
		l := newLane(laneNumber(i), tables, s.cfg.MaxSegmentRows, true)
		lanes = append(lanes, Lane{
			Number: l.number, Tables: tableNames(tables), Splittable: l.splittable, MaxSegmentRows: l.maxRows,
		})
	}
	return lanes
}

// Batch is an empty batch, for [Writer.Batch].
func (s *Schema) Batch() *Batch { return s.catalog.batch() }

// layoutLoader checks tables against layouts.
type layoutLoader struct {
	loader
	layouts map[string]Layout // by full name
}

// add checks a layout's own name; the rest is checked for layouts that a table is declared for.
func (l *layoutLoader) add(layout Layout) {
	name := layout.FullName()
	if _, twice := l.layouts[name]; twice {
		l.problem(layout.Name, "it has two layouts: give it one")
		return
	}
	l.layouts[name] = layout
}

// table is one declared table; nil if it has problems.
func (l *layoutLoader) table(index int, declared Table) *table {
	before := len(l.problems)
	t := &table{
		index: index, name: declared.Name, operations: or(declared.Operations, Insert), maxSegmentRows: declared.MaxSegmentRows,
	}
	if !l.checkDeclared(t, declared) {
		return nil
	}
	layout, known := l.layouts[t.fullName()]
	if !known {
		l.problem(t.name, "there is no layout of it: there are %s", strings.Join(l.names(), ", "))
		return nil
	}
	if !l.first(t) {
		return nil
	}
	all := l.columns(t, layout)
	indexes := l.indexes(t, layout, all)
	if len(l.problems) > before {
		return nil
	}
	if !l.choose(t, declared, all, indexes) {
		return nil
	}
	return t
}

// columns are the layout's, as a server would tell them.
func (l *layoutLoader) columns(t *table, layout Layout) []tableColumn {
	var all []tableColumn
	for _, given := range layout.Columns {
		if columnNamed(all, given.Name) != nil {
			l.problem(t.name, "its layout has two columns %s", given.Name)
		}
		typ, err := coltype.Parse(given.Type)
		if err != nil {
			l.problem(t.name, "column %s of its layout: %v", given.Name, err)
			continue
		}
		c := column{
			name: given.Name, quoted: quoteName(given.Name), typ: typ.Text, class: classes[typ.Name], members: typ.Members,
			single: typ.Name == "float", fixed: typ.Name == "char",
			nullable: given.Nullable && !slices.ContainsFunc(layout.Key, func(k string) bool { return strings.EqualFold(k, given.Name) }),
		}
		switch c.class {
		case classDecimal:
			c.precision, c.scale = typ.Args[0], typ.Args[1]
		case classDateTime, classTimestamp, classTime:
			c.precision = typ.Args[0]
		default:
			if typ.Name == "binary" {
				c.length = typ.Args[0]
			}
		}
		all = append(all, tableColumn{column: c})
	}
	if len(layout.Columns) == 0 {
		l.problem(t.name, "its layout has no columns")
	}
	return all
}

// indexes are the layout's unique keys, the primary one first.
func (l *layoutLoader) indexes(t *table, layout Layout, all []tableColumn) []uniqueIndex {
	var indexes []uniqueIndex
	add := func(name string, columns []string) {
		index := uniqueIndex{name: name}
		for _, n := range columns {
			c := columnNamed(all, n)
			if c == nil {
				l.problem(t.name, "key %s of its layout: there is no column %s: it has %s", name, n, tableColumnNames(all))
				continue
			}
			index.parts = append(index.parts, indexPart{column: c.name})
		}
		indexes = append(indexes, index)
	}
	if len(layout.Key) > 0 {
		add(layoutKey, layout.Key)
	}
	for i, columns := range layout.Unique {
		if len(columns) == 0 {
			l.problem(t.name, "unique key %d of its layout has no columns", i+1)
			continue
		}
		add(strings.Join(columns, "_"), columns)
	}
	return indexes
}

// references are the foreign keys of all layouts.
func (l *layoutLoader) references() []edge {
	var edges []edge
	for _, child := range slices.Sorted(maps.Keys(l.layouts)) {
		for _, parent := range l.layouts[child].References {
			edges = append(edges, edge{child: child, parent: Layout{Name: parent}.FullName()})
		}
	}
	return edges
}

// names are the tables that have a layout, as they are named there.
func (l *layoutLoader) names() []string {
	names := make([]string, 0, len(l.layouts))
	for _, layout := range l.layouts {
		names = append(names, layout.Name)
	}
	slices.Sort(names)
	return names
}
