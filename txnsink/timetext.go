package txnsink

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

// timeTexts are the notations that are taken for a date or time. The servers take more, and then drop a part in
// silence (the time of a DATE, the date of a TIME), guess a century, or differ: MySQL rounds digits that MariaDB cuts
// off, and reads an offset that MariaDB refuses (measured on MySQL 9.7 and MariaDB 11.8, strict mode).
var timeTexts = map[class]string{
	classDate:      "2006-01-02",
	classDateTime:  "2006-01-02 15:04:05.999999, or without the fraction or the time",
	classTimestamp: "2006-01-02 15:04:05.999999, or without the fraction or the time",
	classTime:      "[-]838:59:59.999999, or without the fraction",
}

// checkTimeText tells whether the column keeps all of v, if v is a date or time at all: that is the server's to say.
func checkTimeText(c *column, v string) error {
	i := 0
	var ok bool
	switch c.class {
	case classTime:
		if len(v) > 0 && v[0] == '-' {
			i++
		}
		hour := i
		for i < len(v) && i < hour+3 && isDigit(v[i]) {
			i++
		}
		ok = i > hour
		if ok {
			i, ok = match(v, i, ":00:00")
		}
	default:
		i, ok = match(v, 0, "0000-00-00")
		if !ok || i == len(v) {
			break
		}
		ok = c.class != classDate && (v[i] == ' ' || v[i] == 'T')
		if ok {
			i, ok = match(v, i+1, "00:00:00")
		}
	}
	digits := 0
	if ok && i < len(v) {
		ok = v[i] == '.' && i+1 < len(v)
		for i++; ok && i < len(v); i++ {
			ok = isDigit(v[i])
			digits++
			if ok && v[i] != '0' && digits > c.precision {
				return fmt.Errorf("%q has more digits than the column, which is %s, keeps: round it yourself, or widen the column", shorten(v), c.typ)
			}
		}
	}
	if !ok {
		return fmt.Errorf("%q is not in the notation of a column of type %s: want %s", shorten(v), c.typ, timeTexts[c.class])
	}
	return nil
}

// match reads pattern, in which 0 is any digit, from v at i, and gives the position behind it.
func match(v string, i int, pattern string) (end int, ok bool) {
	if len(v)-i < len(pattern) {
		return i, false
	}
	for n := range len(pattern) {
		if b := v[i+n]; pattern[n] == '0' && !isDigit(b) || pattern[n] != '0' && b != pattern[n] {
			return i, false
		}
	}
	return i + len(pattern), true
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// checkLocalText tells whether v, in the notation of a TIMESTAMP, is one point in time of a zone with several offsets.
func checkLocalText(v string, zone *time.Location) error {
	const layout = "2006-01-02 15:04:05"
	if len(v) < len(layout) {
		v += " 00:00:00"
	}
	at, err := time.ParseInLocation(layout, v[:10]+" "+v[11:len(layout)], zone)
	if err == nil && comesTwice(at) {
		return errAmbiguous
	}
	return nil // or no time at all, and the server says so
}

var errSpaces = errors.New("the text is too long by spaces at its end, which the server would cut off in silence: cut them off yourself, or widen the column")

// losesSpaces tells whether v is too long for the column by its trailing spaces, which the servers cut off with a note
// and no error, also in strict mode (MySQL manual 11.3.2).
func losesSpaces[T string | []byte](c *column, v T) bool {
	if c.chars == 0 && c.octets == 0 || len(v) == 0 || v[len(v)-1] != ' ' {
		return false
	}
	if c.octets > 0 {
		return len(v) > c.octets
	}
	return utf8.RuneCountInString(string(v)) > c.chars
}
