package datum

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The notations of the server.
const (
	DateLayout     = "2006-01-02"
	DateTimeLayout = "2006-01-02 15:04:05.000000"
)

// moment is a date, a time of day, or both, in parts as they were written: zeros, and days that a month does not have,
// are for the caller to judge.
type moment struct {
	year, month, day             int
	hour, minute, second, micros int
	negative                     bool // of TIME
}

func (t *Type) storeTime(v Value, o Options) (Value, *Problem) {
	kind := t.Name
	if kind == "timestamp" {
		kind = "datetime"
	}
	text := strings.Trim(v.Text(), " ")
	if v.IsNumber() {
		return Value{}, incorrect(kind, text)
	}
	var m moment
	var ok bool
	if t.class() == classTime {
		m, ok = parseClock(text)
	} else {
		m, ok = parseMoment(text)
	}
	if !ok {
		return Value{}, incorrect(kind, v.quoted())
	}
	if t.class() == classTime {
		m = m.roundClock(t.Fraction, o.MariaDB)
		if m.hour > 838 {
			return Value{}, incorrect(kind, text)
		}
		return String(m.clock(t.Fraction)), nil
	}
	zero := m.year == 0 && m.month == 0 && m.day == 0
	if !m.validDate() || o.NoZeroDate && (m.year == 0 && zero || m.month == 0 || m.day == 0) {
		return Value{}, incorrect(kind, text)
	}
	if t.class() == classDate {
		if !o.MariaDB && m.micros >= 500000 && m.month > 0 && m.day > 0 {
			return String(m.time().Round(time.Second).Format(DateLayout)), nil
		}
		return String(m.date()), nil
	}
	if zero || m.month == 0 || m.day == 0 {
		if t.class() == classTimestamp && (!zero || m.hour+m.minute+m.second != 0) {
			return Value{}, incorrect(kind, text)
		}
		return String(m.date() + " " + m.clock(t.Fraction)), nil
	}
	at := m.time()
	unit := time.Second
	for range t.Fraction {
		unit /= 10
	}
	if o.MariaDB {
		at = at.Truncate(unit)
	} else {
		at = at.Round(unit)
	}
	if t.class() == classTimestamp && (at.Unix() < 1 || at.Year() > 2106) {
		return Value{}, incorrect(kind, text)
	}
	if at.Year() > 9999 {
		return Value{}, incorrect(kind, text)
	}
	return String(FormatTime(at, t.Fraction)), nil
}

// FormatTime is t as a DATETIME with the given digits of a second.
func FormatTime(t time.Time, fraction int) string {
	layout := DateTimeLayout[:len("2006-01-02 15:04:05")]
	if fraction > 0 {
		layout = DateTimeLayout[:len(layout)+1+fraction]
	}
	return t.Format(layout)
}

// Shift moves text, a DATETIME, from one offset to another. A zero date stays.
func Shift(text string, by time.Duration) string {
	m, ok := parseMoment(text)
	if !ok || m.month == 0 || m.day == 0 {
		return text
	}
	_, fraction, _ := strings.Cut(text, ".")
	return FormatTime(m.time().Add(by), len(fraction))
}

// ParseTime reads a DATETIME in UTC.
func ParseTime(text string) (time.Time, bool) {
	m, ok := parseMoment(text)
	if !ok || !m.validDate() || m.month == 0 || m.day == 0 {
		return time.Time{}, false
	}
	return m.time(), true
}

func (m moment) time() time.Time {
	return time.Date(m.year, time.Month(m.month), m.day, m.hour, m.minute, m.second, m.micros*1000, time.UTC)
}

func (m moment) validDate() bool {
	if m.month > 12 || m.day > 31 || m.hour > 23 || m.minute > 59 || m.second > 59 {
		return false
	}
	if m.month == 0 || m.day == 0 {
		return true
	}
	return m.day <= time.Date(m.year, time.Month(m.month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (m moment) date() string { return fmt.Sprintf("%04d-%02d-%02d", m.year, m.month, m.day) }

func (m moment) clock(fraction int) string {
	s := fmt.Sprintf("%02d:%02d:%02d", m.hour, m.minute, m.second)
	if fraction > 0 {
		s += "." + fmt.Sprintf("%06d", m.micros)[:fraction]
	}
	if m.negative {
		return "-" + s
	}
	return s
}

func (m moment) roundClock(fraction int, cut bool) moment {
	unit := 1000000
	for range fraction {
		unit /= 10
	}
	total := ((m.hour*60+m.minute)*60+m.second)*1000000 + m.micros
	if !cut {
		total += unit / 2
	}
	total -= total % unit
	m.micros, total = total%1000000, total/1000000
	m.second, total = total%60, total/60
	m.minute, m.hour = total%60, total/60
	return m
}

// parseMoment reads YYYY-MM-DD, with a time behind it or not.
func parseMoment(text string) (moment, bool) {
	var m moment
	date, clock := text, ""
	if i := strings.IndexAny(text, " T"); i >= 0 {
		date, clock = text[:i], text[i+1:]
	}
	parts := strings.Split(date, "-")
	if len(parts) != 3 || len(parts[0]) != 4 {
		return m, false
	}
	if !numbers(parts, &m.year, &m.month, &m.day) {
		return m, false
	}
	if clock == "" {
		return m, true
	}
	c, ok := parseClock(clock)
	if !ok || c.negative {
		return m, false
	}
	m.hour, m.minute, m.second, m.micros = c.hour, c.minute, c.second, c.micros
	return m, true
}

// parseClock reads [-]H:MM:SS[.FFFFFF], and HH:MM.
func parseClock(text string) (moment, bool) {
	var m moment
	if strings.HasPrefix(text, "-") {
		m.negative, text = true, text[1:]
	}
	text, fraction, dotted := strings.Cut(text, ".")
	parts := strings.Split(text, ":")
	if len(parts) == 2 {
		parts = append(parts, "0")
	}
	if len(parts) != 3 || !numbers(parts, &m.hour, &m.minute, &m.second) || m.minute > 59 || m.second > 59 {
		return m, false
	}
	if dotted && fraction != "" {
		n, err := strconv.Atoi((fraction + "000000")[:6])
		if err != nil || strings.Trim(fraction, "0123456789") != "" {
			return m, false
		}
		m.micros = n
	}
	return m, true
}

func numbers(texts []string, into ...*int) bool {
	for i, s := range texts {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || !isDigit(s[0]) {
			return false
		}
		*into[i] = n
	}
	return true
}
