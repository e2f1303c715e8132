package syntax

import "slices"

// parser reads one statement by recursive descent.
type parser struct {
	lexer
	now   token
	ahead []token // at most one
	err   error   // of the lexer, met while advancing
	marks int     // question marks so far
}

// Parse reads one statement. The error is an *Error.
func Parse(text string) (Statement, error) {
	s, _, err := parse(text)
	return s, err
}

// Marks is the number of question marks in a statement.
func Marks(text string) (int, error) {
	_, n, err := parse(text)
	return n, err
}

func parse(text string) (Statement, int, error) {
	if k, ok := known.get(text); ok {
		return k.statement, k.marks, nil
	}
	p := &parser{lexer: lexer{text: text}}
	p.advance()
	s, err := p.statement()
	if p.err != nil {
		return nil, 0, p.err
	}
	if err != nil {
		return nil, 0, err
	}
	if p.takeSign(";") && p.now.kind != tokenEnd || p.now.kind != tokenEnd {
		return nil, 0, p.syntax()
	}
	known.put(text, parsed{s, p.marks})
	return s, p.marks, nil
}

func (p *parser) advance() {
	if len(p.ahead) > 0 {
		p.now, p.ahead = p.ahead[0], p.ahead[:0]
		return
	}
	t, err := p.next()
	if err != nil {
		p.err = err
		t = token{at: len(p.text)}
	}
	p.now = t
}

// peek is the token behind the current one.
func (p *parser) peek() token {
	if len(p.ahead) == 0 {
		t, err := p.next()
		if err != nil {
			p.err = err
			t = token{at: len(p.text)}
		}
		p.ahead = append(p.ahead, t)
	}
	return p.ahead[0]
}

func (p *parser) syntax() error { return &Error{Near: p.text[min(p.now.at, len(p.text)):]} }

func (p *parser) unsupported(what string) error {
	return &Error{Unsupported: true, What: what, Near: p.text[min(p.now.at, len(p.text)):]}
}

// takeWord passes w if it comes now.
func (p *parser) takeWord(w string) bool {
	if p.now.kind != tokenWord || p.now.upper != w {
		return false
	}
	p.advance()
	return true
}

// takeWords passes all of ws if they come now, one after the other; two at most.
func (p *parser) takeWords(first, second string) bool {
	if p.now.kind != tokenWord || p.now.upper != first || p.peek().upper != second {
		return false
	}
	p.advance()
	p.advance()
	return true
}

func (p *parser) takeSign(s string) bool {
	if p.now.kind != tokenSign || p.now.text != s {
		return false
	}
	p.advance()
	return true
}

func (p *parser) word(w string) error {
	if p.takeWord(w) {
		return nil
	}
	return p.syntax()
}

func (p *parser) sign(s string) error {
	if p.takeSign(s) {
		return nil
	}
	return p.syntax()
}

// reserved are words that cannot be names without backticks, as far as a statement could be misread because of them.
var reserved = []string{
	"SELECT", "FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "FOR", "LOCK", "SET", "VALUES", "ON", "AS", "AND", "OR", "NOT",
	"JOIN", "INNER", "LEFT", "RIGHT", "CROSS", "UNION", "HAVING", "INTO", "IN", "IS", "LIKE", "BETWEEN", "BY", "USING",
	"FORCE", "USE", "IGNORE", "PRIMARY", "UNIQUE", "KEY", "INDEX", "CONSTRAINT", "FOREIGN", "CHECK", "TABLE", "NULL",
}

// name is an identifier.
func (p *parser) name() (string, error) {
	t := p.now
	if t.kind != tokenQuoted && (t.kind != tokenWord || slices.Contains(reserved, t.upper)) {
		return "", p.syntax()
	}
	p.advance()
	return t.text, nil
}

// names is (a, b, …).
func (p *parser) names() ([]string, error) {
	if err := p.sign("("); err != nil {
		return nil, err
	}
	var list []string
	for !p.takeSign(")") {
		if len(list) > 0 {
			if err := p.sign(","); err != nil {
				return nil, err
			}
		}
		n, err := p.name()
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// table is name or database.name.
func (p *parser) table() (TableName, error) {
	n, err := p.name()
	if err != nil {
		return TableName{}, err
	}
	if !p.takeSign(".") {
		return TableName{Name: n}, nil
	}
	t := TableName{Database: n}
	t.Name, err = p.name()
	return t, err
}

func (p *parser) integer() (int, error) {
	t := p.now
	n := 0
	if t.kind != tokenNumber || len(t.text) > 12 {
		return 0, p.syntax()
	}
	for i := range len(t.text) {
		if !isDigit(t.text[i]) {
			return 0, p.syntax()
		}
		n = n*10 + int(t.text[i]-'0')
	}
	p.advance()
	return n, nil
}
