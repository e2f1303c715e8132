package txnsink

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// column is one column of a table, as the server has it.
type column struct {
	name      string
	quoted    string
	typ       string // as the server writes it, "decimal(12,2)"
	class     class
	nullable  bool
	auto      bool     // AUTO_INCREMENT
	adds      bool     // an upsert adds to it
	single    bool     // FLOAT: single precision
	precision int      // of DECIMAL: digits; of TIME, DATETIME and TIMESTAMP: fraction digits
	scale     int      // of DECIMAL
	fixed     bool     // CHAR
	length    int      // of BINARY: bytes
	chars     int      // of VARCHAR: the most characters; 0: not known
	octets    int      // of TEXT in UTF-8: the most bytes; 0: not known
	members   []string // of ENUM and SET
}

// class is how values of a column are written.
type class uint8

const (
	classUnsupported class = iota
	classInteger
	classYear
	classBit
	classDecimal
	classFloat
	classText
	classEnum // ENUM and SET
	classJSON
	classBinary
	classDate
	classDateTime
	classTimestamp
	classTime
)

// classes are the types that are supported, by DATA_TYPE of information_schema.COLUMNS. Types that are not here are
// refused when the sink is opened.
var classes = map[string]class{
	"tinyint": classInteger, "smallint": classInteger, "mediumint": classInteger, "int": classInteger, "bigint": classInteger,
	"year": classYear, "bit": classBit, "decimal": classDecimal, "float": classFloat, "double": classFloat,
	"char": classText, "varchar": classText, "tinytext": classText, "text": classText, "mediumtext": classText, "longtext": classText,
	"enum": classEnum, "set": classEnum, "json": classJSON,
	"binary": classBinary, "varbinary": classBinary, "tinyblob": classBinary, "blob": classBinary, "mediumblob": classBinary, "longblob": classBinary,
	"date": classDate, "datetime": classDateTime, "timestamp": classTimestamp, "time": classTime,
	"uuid": classText, "inet4": classText, "inet6": classText, // MariaDB
}

// exact tells whether an upsert can add to the column without rounding.
func (c *column) exact() bool { return c.class == classInteger || c.class == classDecimal }

// fits tells whether the column keeps every digit of d, which was written as text.
func (c *column) fits(d decimal, text string) error {
	switch c.class {
	case classInteger, classYear:
		if d.fraction != "" {
			return fmt.Errorf("%q has a fraction, which a column of type %s would lose", shorten(text), c.typ)
		}
		if c.class == classYear {
			if v, err := strconv.ParseInt(d.whole, 10, 64); d.whole != "" && (err != nil || !isYear(v) || d.negative) {
				return fmt.Errorf("%q is not a year of the server: write 0 or 1901 to 2155", shorten(text))
			}
		}
	case classDecimal:
		if len(d.fraction) > c.scale {
			return fmt.Errorf("%q has %d digits behind the point, the column is %s and would round: round it yourself, or widen the column", shorten(text), len(d.fraction), c.typ)
		}
		if len(d.whole) > c.precision-c.scale {
			return fmt.Errorf("%q has %d digits before the point, the column is %s and keeps %d: widen the column", shorten(text), len(d.whole), c.typ, c.precision-c.scale)
		}
	default:
	}
	return nil
}

// shown is how the server prints a number of the column in an error: with all digits of a DECIMAL's fraction.
func (c *column) shown(number string) string {
	if c.class != classDecimal || c.scale == 0 {
		return number
	}
	whole, fraction, _ := strings.Cut(number, ".")
	return whole + "." + fraction + strings.Repeat("0", c.scale-len(fraction))
}

// readsAsNumber tells whether the server would take v, which is none of the column's members, for the number of one,
// as it does with text that is all digits.
func (c *column) readsAsNumber(v string) bool {
	text := strings.TrimSpace(v)
	return text != "" && strings.Trim(text, "+-0123456789") == "" && !slices.Contains(c.members, strings.TrimRight(v, " "))
}

// parseMembers reads the members of enum('a','b') or set('a','b'); quotes in a member are doubled.
func parseMembers(typ string) []string {
	_, list, ok := strings.Cut(typ, "(")
	if !ok {
		return nil
	}
	var members []string
	for list != "" && list[0] != ')' {
		list = strings.TrimPrefix(strings.TrimLeft(list, ", "), "'")
		var m strings.Builder
		for list != "" {
			if list[0] != '\'' {
				m.WriteByte(list[0])
				list = list[1:]
				continue
			}
			if !strings.HasPrefix(list, "''") {
				break
			}
			m.WriteByte('\'')
			list = list[2:]
		}
		list = strings.TrimPrefix(list, "'")
		members = append(members, m.String())
	}
	return members
}

func columnNames(columns []column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// quoteName is name as an identifier in a statement.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// quoteText is s as a string literal in a statement.
func quoteText(s string) string {
	return string(append(appendEscaped([]byte{'\''}, s), '\''))
}
