package txnsink

// RowError is a row that cannot be written. Its text names the table, the row's key, the column, the server's number
// and what to do.
type RowError struct {
	Table  string // as declared
	Row    int    // position in the batch, from 0; -1 if the server does not tell which row of a statement it was
	Column string // "" if it is not about one
	Key    string // primary key, "id=7, part='a'", shortened; of the first and last row of the statement if Row is -1
	Code   uint16 // the server's error number; 0 if it was found before anything was sent
	Err    error
}

func (e *RowError) Error() string { return e.Err.Error() }

func (e *RowError) Unwrap() error { return e.Err }
