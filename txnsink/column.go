package txnsink

// column is one column of a table, as the server has it.
type column struct {
	name      string
	quoted    string
	typ       string // as the server writes it, "decimal(12,2)"
	class     class
	nullable  bool
	unsigned  bool
	auto      bool     // AUTO_INCREMENT
	precision int      // of DECIMAL: digits; of temporal types: fraction digits
	scale     int      // of DECIMAL
	length    int      // of BINARY: bytes
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
