package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/xasink/xasink/txnsink"
)

// kind is a table that a workload can have.
type kind struct {
	letter  byte
	declare txnsink.Table
	ddl     string
	query   string // its rows, as text in the form of expected
	// add gives a batch the rows of record i. r is the record's own.
	add func(b *txnsink.Batch, i int, r *rand.Rand)
	// apply does the same to the table's expected content, by row text where it is insert-only, else by key.
	apply func(rows map[string]int64, i int, r *rand.Rand)
	sums  bool // a wrong value of a key that is there is a sum: too small is lost, too large is doubled
}

// hot is how many keys upserts go to: few, so that they meet.
const hot = 5

var tables = []kind{
	{
		letter: 'e', declare: txnsink.Table{Name: "events"},
		ddl:   "CREATE TABLE shop.events (id BIGINT PRIMARY KEY, body VARCHAR(20) NOT NULL)",
		query: "SELECT id, 1 FROM shop.events",
		add: func(b *txnsink.Batch, i int, _ *rand.Rand) {
			b.Insert("events").Int64(int64(i)).String("it's")
		},
		apply: func(rows map[string]int64, i int, _ *rand.Rand) { rows[fmt.Sprint(i)]++ },
	},
	{
		letter: 'p', declare: txnsink.Table{Name: "plain"},
		ddl:   "CREATE TABLE shop.plain (id BIGINT NOT NULL, body VARCHAR(20) NOT NULL)",
		query: "SELECT id, 1 FROM shop.plain",
		add: func(b *txnsink.Batch, i int, _ *rand.Rand) {
			b.Insert("plain").Int64(int64(i)).String("")
		},
		apply: func(rows map[string]int64, i int, _ *rand.Rand) { rows[fmt.Sprint(i)]++ },
	},
	{
		letter: 't', declare: txnsink.Table{Name: "totals", Operations: txnsink.Upsert, Add: []string{"n"}},
		ddl:   "CREATE TABLE shop.totals (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
		query: "SELECT id, n FROM shop.totals",
		add: func(b *txnsink.Batch, i int, r *rand.Rand) {
			b.Upsert("totals").Int64(int64(r.IntN(hot))).Int64(int64(i) + 1)
		},
		apply: func(rows map[string]int64, i int, r *rand.Rand) { rows[fmt.Sprint(r.IntN(hot))] += int64(i) + 1 },
		sums:  true,
	},
	{
		letter: 'o', declare: txnsink.Table{Name: "orders", Operations: txnsink.Upsert | txnsink.Delete},
		ddl:   "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
		query: "SELECT id, n FROM shop.orders",
		add: func(b *txnsink.Batch, i int, r *rand.Rand) {
			if key := int64(r.IntN(hot)); r.IntN(3) == 0 {
				b.Delete("orders").Int64(key)
			} else {
				b.Upsert("orders").Int64(key).Int64(int64(i))
			}
		},
		apply: func(rows map[string]int64, i int, r *rand.Rand) {
			if key := fmt.Sprint(r.IntN(hot)); r.IntN(3) == 0 {
				delete(rows, key)
			} else {
				rows[key] = int64(i)
			}
		},
	},
	{
		letter: 'l', declare: txnsink.Table{Name: "latest", Operations: txnsink.Upsert},
		ddl:   "CREATE TABLE shop.latest (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
		query: "SELECT id, n FROM shop.latest",
		add: func(b *txnsink.Batch, i int, r *rand.Rand) {
			b.Upsert("latest").Int64(int64(r.IntN(hot))).Int64(int64(i))
		},
		apply: func(rows map[string]int64, i int, r *rand.Rand) { rows[fmt.Sprint(r.IntN(hot))] = int64(i) },
	},
}

// tablesOf are the tables of letters, each at most once and at least one.
func tablesOf(letters string) ([]kind, error) {
	var chosen []kind
	for i := range len(letters) {
		at := slices.IndexFunc(tables, func(k kind) bool { return k.letter == letters[i] })
		if at < 0 || strings.IndexByte(letters, letters[i]) != i {
			return nil, fmt.Errorf("%q: want letters of tables, each once", letters)
		}
		chosen = append(chosen, tables[at])
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("there are no tables")
	}
	return chosen, nil
}

// source is the records that a scenario's seed gives. A record has rows for some of the tables, at least for one.
type source struct {
	seed   uint64
	tables []kind
}

// of calls do for each row of record i.
func (s source) of(i int, do func(k kind, r *rand.Rand)) {
	always := int(mix(s.seed, uint64(i), 0) % uint64(len(s.tables)))
	for n, k := range s.tables {
		r := rand.New(rand.NewPCG(s.seed, uint64(i)<<8|uint64(k.letter)))
		if take := r.IntN(2) == 0; take || n == always {
			do(k, r)
		}
	}
}

func mix(seed, i, n uint64) uint64 { return rand.NewPCG(seed^n<<32, i).Uint64() }

// add gives b the rows of record i.
func (s source) add(b *txnsink.Batch, i int) {
	s.of(i, func(k kind, r *rand.Rand) { k.add(b, i, r) })
}

// expected is what each table holds once all records are written, by letter.
func (s source) expected(records int) map[byte]map[string]int64 {
	content := map[byte]map[string]int64{}
	for _, k := range s.tables {
		content[k.letter] = map[string]int64{}
	}
	for i := range records {
		s.of(i, func(k kind, r *rand.Rand) { k.apply(content[k.letter], i, r) })
	}
	return content
}

// compare tells how a table differs from what is expected, nil where it does not.
func (k kind) compare(want, have map[string]int64) []Violation {
	var v []Violation
	keys := maps.Clone(want)
	maps.Copy(keys, have)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		w, inWant := want[key]
		h, inHave := have[key]
		if inWant == inHave && w == h {
			continue
		}
		v = append(v, Violation{k.difference(w, h, inWant, inHave),
			fmt.Sprintf("table %s, key %s: want %s, have %s", k.declare.Name, key, shown(w, inWant), shown(h, inHave))})
	}
	return v
}

func shown(n int64, there bool) string {
	if !there {
		return "no row"
	}
	return fmt.Sprint(n)
}

func (k kind) difference(want, have int64, inWant, inHave bool) Breach {
	insertOnly := k.declare.Operations == 0
	switch {
	case (insertOnly || k.sums) && have < want, inWant && !inHave:
		return Lost
	case insertOnly || k.sums:
		return Doubled
	case !inWant:
		return Reordered
	}
	return Reordered
}
