package datum

import (
	"fmt"
	"strconv"
	"strings"
)

// Type is the type of a column.
type Type struct {
	Name     string // DATA_TYPE of information_schema.COLUMNS
	Unsigned bool
	Length   int      // characters, or bytes of binary strings; bits of BIT; 0 where the type has none
	Digits   int      // of DECIMAL
	Scale    int      // of DECIMAL
	Fraction int      // digits of a second
	Members  []string // of ENUM and SET
	Charset  string   // of text
	Collate  string   // of text
	JSON     bool     // the value must be a JSON document
	Shown    string   // COLUMN_TYPE where it is not made of the rest

	kept class // of Name, where NewType was told it
}

// NewType is the type of a name, in small letters, with nothing else said of it.
func NewType(name string) Type { return Type{Name: name, kept: classes[name]} }

// class is how values of a type are stored.
type class uint8

const (
	classNone class = iota
	classInteger
	classYear
	classBit
	classDecimal
	classFloat
	classDouble
	classChar
	classText
	classBinary
	classBytes
	classEnum
	classSet
	classJSON
	classDate
	classDateTime
	classTimestamp
	classTime
)

var classes = map[string]class{
	"tinyint": classInteger, "smallint": classInteger, "mediumint": classInteger, "int": classInteger, "bigint": classInteger,
	"year": classYear, "bit": classBit, "decimal": classDecimal, "float": classFloat, "double": classDouble,
	"char": classChar, "varchar": classText, "tinytext": classText, "text": classText, "mediumtext": classText, "longtext": classText,
	"binary": classBinary, "varbinary": classBytes, "tinyblob": classBytes, "blob": classBytes, "mediumblob": classBytes, "longblob": classBytes,
	"enum": classEnum, "set": classSet, "json": classJSON,
	"date": classDate, "datetime": classDateTime, "timestamp": classTimestamp, "time": classTime,
}

// Known tells whether columns of the type can be made.
func Known(name string) bool { return classes[name] != classNone }

// octets are the most bytes of types that have a fixed bound.
var octets = map[string]int{
	"tinytext": 255, "text": 65535, "mediumtext": 16777215, "longtext": 4294967295,
	"tinyblob": 255, "blob": 65535, "mediumblob": 16777215, "longblob": 4294967295,
}

func (t *Type) class() class {
	if t.kept != classNone {
		return t.kept
	}
	return classes[t.Name]
}

// Textual tells whether the type has a character set.
func (t *Type) Textual() bool {
	switch t.class() {
	case classChar, classText, classEnum, classSet:
		return true
	default:
		return false
	}
}

// Numeric tells whether values are numbers.
func (t *Type) Numeric() bool { return t.class() >= classInteger && t.class() <= classDouble }

// Temporal tells whether the type is a date or a time.
func (t *Type) Temporal() bool { return t.class() >= classDate }

// IsTimestamp tells whether values are stored in UTC and shown in the session's time zone.
func (t *Type) IsTimestamp() bool { return t.class() == classTimestamp }

// Integer tells whether values are integers.
func (t *Type) Integer() bool { return t.class() == classInteger }

// IgnoresCase tells whether texts that differ in capitals only are equal.
func (t *Type) IgnoresCase() bool { return t.Textual() && strings.Contains(t.Collate, "_ci") }

// Pads tells whether trailing spaces do not count. The collations of Unicode 9 that MySQL has do not pad.
func (t *Type) Pads() bool { return t.Textual() && !strings.Contains(t.Collate, "_0900_") }

// String is COLUMN_TYPE. widths tells whether integers show their width, as on MariaDB.
func (t *Type) String(widths bool) string {
	if t.Shown != "" {
		return t.Shown
	}
	s := t.Name
	switch t.class() {
	case classDecimal:
		s += fmt.Sprintf("(%d,%d)", t.Digits, t.Scale)
	case classChar, classBinary, classBit:
		s += fmt.Sprintf("(%d)", t.Length)
	case classText, classBytes:
		if t.Name == "varchar" || t.Name == "varbinary" {
			s += fmt.Sprintf("(%d)", t.Length)
		}
	case classDateTime, classTimestamp, classTime:
		if t.Fraction > 0 {
			s += fmt.Sprintf("(%d)", t.Fraction)
		}
	case classEnum, classSet:
		quoted := make([]string, len(t.Members))
		for i, m := range t.Members {
			quoted[i] = "'" + strings.ReplaceAll(m, "'", "''") + "'"
		}
		s += "(" + strings.Join(quoted, ",") + ")"
	case classInteger:
		switch {
		case t.Length == 1 && t.Name == "tinyint":
			s += "(1)"
		case widths:
			s += "(" + strconv.Itoa(width[t.Name]-btoi(t.Unsigned && t.Name != "bigint")) + ")"
		}
	case classYear:
		if widths {
			s += "(4)"
		}
	default:
	}
	if t.Unsigned {
		s += " unsigned"
	}
	return s
}

var width = map[string]int{"tinyint": 4, "smallint": 6, "mediumint": 9, "int": 11, "bigint": 20}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Facts are what information_schema.COLUMNS tells of a type besides its names; nil is NULL.
type Facts struct{ Characters, Octets, Digits, Scale, Fraction *int64 }

// Facts describes t as MySQL or MariaDB does.
func (t *Type) Facts(mariadb bool) Facts {
	p := func(n int) *int64 { v := int64(n); return &v }
	switch t.class() {
	case classInteger:
		digits := map[string]int{"tinyint": 3, "smallint": 5, "mediumint": 7, "int": 10, "bigint": 19}[t.Name]
		if t.Unsigned && (t.Name == "bigint" || t.Name == "mediumint" && mariadb) {
			digits++
		}
		return Facts{Digits: p(digits), Scale: p(0)}
	case classDecimal:
		return Facts{Digits: p(t.Digits), Scale: p(t.Scale)}
	case classFloat:
		return Facts{Digits: p(12)}
	case classDouble:
		return Facts{Digits: p(22)}
	case classBit:
		return Facts{Digits: p(t.Length)}
	case classChar, classText:
		if n, ok := octets[t.Name]; ok {
			return Facts{Characters: p(n), Octets: p(n)}
		}
		return Facts{Characters: p(t.Length), Octets: p(t.Length * charBytes(t.Charset))}
	case classBinary, classBytes:
		n, ok := octets[t.Name]
		if !ok {
			n = t.Length
		}
		return Facts{Characters: p(n), Octets: p(n)}
	case classEnum, classSet:
		longest := 0
		for _, m := range t.Members {
			if n := len([]rune(m)); t.class() == classSet {
				longest += n + 1
			} else {
				longest = max(longest, n)
			}
		}
		if t.class() == classSet {
			longest-- // there is one comma less
		}
		return Facts{Characters: p(longest), Octets: p(longest * charBytes(t.Charset))}
	case classDateTime, classTimestamp, classTime:
		return Facts{Fraction: p(t.Fraction)}
	default:
		return Facts{}
	}
}

func charBytes(charset string) int {
	switch charset {
	case "ascii", "latin1", "binary":
		return 1
	case "utf8mb3", "utf8":
		return 3
	}
	return 4
}
