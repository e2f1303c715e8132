// Package filesource reads CSV files, plain or gzip, record by record, and says where it stands: a position is a few
// bytes, and a reader opened at it gives exactly the records that were still to come.
//
// It needs no engine and knows no sink. A loop of one's own looks like this:
//
//  1. [Start] gives the first position of a file, for a job that has none yet.
//  2. [Open] at the position that the sink answers after recovery.
//  3. [Reader.Read] a batch of records, turn their fields into rows, give rows and [Reader.Position] to the sink
//     together, and repeat until io.EOF.
//
// # Which files
//
// The first line is a header that names the columns. Fields follow RFC 4180: a field in double quotes may hold commas,
// line breaks and doubled quotes; every record has as many fields as the header. Lines end in LF or CRLF, the last one
// may lack its end. A byte order mark of UTF-8 before the header is skipped. What is quoted is given as it stands, line
// breaks inside quotes unchanged.
//
// A blank line is skipped where the header has several columns, since it holds nothing. In a file of one column it is a
// record with an empty field, as the grammar of RFC 4180 has it.
//
// Compression is told from the first two bytes, not from the file's name. Files of several gzip members are read to the
// end of the last one.
//
// # What is refused
//
// What cannot be read without guessing is an error with file, line and column, a [*LineError], and the position stays
// before that line. A gzip file that is damaged or cut off is a [*ReadError]; it never looks like the end of the
// file. A position that does not fit the file is a [*PositionError]; a reader never starts anywhere else than asked.
package filesource
