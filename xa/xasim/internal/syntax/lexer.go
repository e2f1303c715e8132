// Package syntax reads the SQL that the simulated server knows, into trees.
package syntax

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Error is a statement that cannot be read. Unsupported tells one that a real server may know, and the simulated one
// does not, from one that no server of its kind takes.
type Error struct {
	Unsupported bool
	What        string // what is not supported
	Near        string // the rest of the statement from where reading stopped
}

func (e *Error) Error() string {
	if e.Unsupported {
		return fmt.Sprintf("not supported: %s, near %q", e.What, e.Near)
	}
	return fmt.Sprintf("syntax error near %q", e.Near)
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenQuoted // an identifier in backticks
	tokenNumber
	tokenString
	tokenHex // X'…' and 0x…: text has the bytes
	tokenBits
	tokenMark   // ?
	tokenSystem // @@name
	tokenUser   // @name
	tokenSign
)

type token struct {
	kind  tokenKind
	text  string // a word as it was written, the content of a quoted one
	upper string // a word in capitals; "" for other kinds
	at    int    // where it begins
}

// lexer cuts a statement into tokens.
type lexer struct {
	text string
	pos  int
}

func (l *lexer) next() (token, error) {
	l.skip()
	at := l.pos
	if at >= len(l.text) {
		return token{at: at}, nil
	}
	c := l.text[at]
	switch {
	case (c == 'x' || c == 'X' || c == 'b' || c == 'B' || c == 'n' || c == 'N') && at+1 < len(l.text) && l.text[at+1] == '\'':
		return l.prefixed(c)
	case c == '0' && at+2 < len(l.text) && l.text[at+1] == 'x' && isHex(l.text[at+2]):
		end := at + 2
		for end < len(l.text) && isHex(l.text[end]) {
			end++
		}
		l.pos = end
		return hexToken(l.text[at+2:end], at)
	case isWord(c) && !isDigit(c):
		return l.word(), nil
	case isDigit(c), c == '.' && at+1 < len(l.text) && isDigit(l.text[at+1]):
		return l.number(), nil
	case c == '\'' || c == '"':
		text, err := l.quoted(c)
		return token{kind: tokenString, text: text, at: at}, err
	case c == '`':
		text, err := l.identifier()
		return token{kind: tokenQuoted, text: text, at: at}, err
	case c == '@':
		return l.variable(), nil
	case c == '?':
		l.pos++
		return token{kind: tokenMark, at: at}, nil
	}
	for _, sign := range []string{"<=>", "<=", ">=", "<>", "!=", "||", "&&", ":="} {
		if strings.HasPrefix(l.text[at:], sign) {
			l.pos += len(sign)
			return token{kind: tokenSign, text: sign, at: at}, nil
		}
	}
	l.pos++
	return token{kind: tokenSign, text: l.text[at : at+1], at: at}, nil
}

// skip passes spaces and comments.
func (l *lexer) skip() {
	for l.pos < len(l.text) {
		rest := l.text[l.pos:]
		switch {
		case isSpace(rest[0]):
			l.pos++
		case strings.HasPrefix(rest, "/*") && !strings.HasPrefix(rest, "/*!") && !strings.HasPrefix(rest, "/*M!"):
			end := strings.Index(rest, "*/")
			if end < 0 {
				l.pos = len(l.text)
				return
			}
			l.pos += end + len("*/")
		case rest[0] == '#', strings.HasPrefix(rest, "--") && (len(rest) == 2 || isSpace(rest[2])):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				l.pos = len(l.text)
				return
			}
			l.pos += end
		default:
			return
		}
	}
}

func (l *lexer) word() token {
	at := l.pos
	for l.pos < len(l.text) && isWord(l.text[l.pos]) {
		l.pos++
	}
	text := l.text[at:l.pos]
	return token{kind: tokenWord, text: text, upper: strings.ToUpper(text), at: at}
}

func (l *lexer) number() token {
	at := l.pos
	digits := func() {
		for l.pos < len(l.text) && isDigit(l.text[l.pos]) {
			l.pos++
		}
	}
	digits()
	if l.pos < len(l.text) && l.text[l.pos] == '.' {
		l.pos++
		digits()
	}
	if l.pos < len(l.text) && (l.text[l.pos] == 'e' || l.text[l.pos] == 'E') {
		end := l.pos + 1
		if end < len(l.text) && (l.text[end] == '+' || l.text[end] == '-') {
			end++
		}
		if end < len(l.text) && isDigit(l.text[end]) {
			l.pos = end
			digits()
		}
	}
	return token{kind: tokenNumber, text: l.text[at:l.pos], at: at}
}

// prefixed is X'…', B'…' or N'…'.
func (l *lexer) prefixed(c byte) (token, error) {
	at := l.pos
	l.pos++
	text, err := l.quoted('\'')
	switch {
	case err != nil:
		return token{}, err
	case c == 'n' || c == 'N':
		return token{kind: tokenString, text: text, at: at}, nil
	case c == 'b' || c == 'B':
		return bitToken(text, at, l.text)
	}
	if len(text)%2 == 1 {
		return token{}, &Error{Near: l.text[at:]}
	}
	t, err := hexToken(text, at)
	if err != nil {
		return token{}, &Error{Near: l.text[at:]}
	}
	return t, nil
}

func hexToken(digits string, at int) (token, error) {
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	b, err := hex.DecodeString(digits)
	return token{kind: tokenHex, text: string(b), at: at}, err
}

func bitToken(digits string, at int, all string) (token, error) {
	if strings.Trim(digits, "01") != "" {
		return token{}, &Error{Near: all[at:]}
	}
	digits = strings.Repeat("0", (8-len(digits)%8)%8) + digits
	b := make([]byte, 0, len(digits)/8)
	for i := 0; i < len(digits); i += 8 {
		var v byte
		for _, d := range []byte(digits[i : i+8]) {
			v = v<<1 | d - '0'
		}
		b = append(b, v)
	}
	return token{kind: tokenBits, text: string(b), at: at}, nil
}

// quoted is the content of a string literal that begins here.
func (l *lexer) quoted(quote byte) (string, error) {
	begin := l.pos
	l.pos++
	at := l.pos
	end := strings.IndexAny(l.text[at:], string(quote)+`\`)
	if end < 0 {
		return "", &Error{Near: l.text[begin:]}
	}
	if end += at; l.text[end] == quote && (end+1 == len(l.text) || l.text[end+1] != quote) {
		l.pos = end + 1
		return l.text[at:end], nil
	}
	var b strings.Builder
	for i := at; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == quote && i+1 < len(l.text) && l.text[i+1] == quote:
			b.WriteByte(c)
			i++
		case c == quote:
			l.pos = i + 1
			return b.String(), nil
		case c == '\\' && i+1 < len(l.text):
			i++
			b.WriteString(unescape(l.text[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", &Error{Near: l.text[begin:]}
}

// unescape is what a backslash before c stands for (MySQL 8.4 manual, 11.1.1).
func unescape(c byte) string {
	switch c {
	case '0':
		return "\x00"
	case 'b':
		return "\b"
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case 'Z':
		return "\x1a"
	case '%', '_':
		return `\` + string(c)
	}
	return string([]byte{c})
}

func (l *lexer) identifier() (string, error) {
	begin := l.pos
	var b strings.Builder
	for i := l.pos + 1; i < len(l.text); i++ {
		switch {
		case l.text[i] != '`':
			b.WriteByte(l.text[i])
		case i+1 < len(l.text) && l.text[i+1] == '`':
			b.WriteByte('`')
			i++
		default:
			l.pos = i + 1
			return b.String(), nil
		}
	}
	return "", &Error{Near: l.text[begin:]}
}

// variable is @@name, @@scope.name or @name.
func (l *lexer) variable() token {
	at := l.pos
	kind := tokenUser
	l.pos++
	if l.pos < len(l.text) && l.text[l.pos] == '@' {
		kind = tokenSystem
		l.pos++
	}
	from := l.pos
	for l.pos < len(l.text) && (isWord(l.text[l.pos]) || l.text[l.pos] == '.') {
		l.pos++
	}
	return token{kind: kind, text: strings.ToLower(l.text[from:l.pos]), at: at}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c >= 0x80
}
