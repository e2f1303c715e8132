package syntax

import "strings"

// statement reads one, by its first word.
func (p *parser) statement() (Statement, error) {
	if p.now.kind == tokenSign && p.now.text == "(" {
		return nil, p.unsupported("a query in parentheses")
	}
	switch p.now.upper {
	case "SELECT":
		return p.query()
	case "INSERT", "REPLACE":
		return p.insert()
	case "UPDATE":
		return p.update()
	case "DELETE":
		return p.delete()
	case "EXPLAIN", "DESCRIBE", "DESC":
		p.advance()
		switch p.now.upper {
		case "SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE":
			s, err := p.statement()
			return &Explain{s}, err
		}
		return nil, p.unsupported("EXPLAIN of this")
	case "DO":
		p.advance()
		return p.do()
	case "CREATE", "DROP", "ALTER", "TRUNCATE":
		return p.definition()
	}
	return p.control()
}

func (p *parser) do() (Statement, error) {
	s := &Do{}
	for {
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		s.X = append(s.X, x)
		if !p.takeSign(",") {
			return s, nil
		}
	}
}

func (p *parser) query() (*Select, error) {
	if err := p.word("SELECT"); err != nil {
		return nil, err
	}
	s := &Select{}
	if p.takeWord("DISTINCT") {
		s.Distinct = true
	}
	p.takeWord("ALL")
	for {
		f, err := p.field()
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, f)
		if !p.takeSign(",") {
			break
		}
	}
	if p.takeWord("FROM") {
		if err := p.from(s); err != nil {
			return nil, err
		}
	}
	if err := p.tail(s); err != nil {
		return nil, err
	}
	return s, p.lockMode(s)
}

func (p *parser) field() (Field, error) {
	from := p.now.at
	if p.takeSign("*") {
		return Field{Star: true}, nil
	}
	if p.now.kind == tokenWord || p.now.kind == tokenQuoted {
		if name := p.now.text; p.peek().kind == tokenSign && p.peek().text == "." && p.starBehind() {
			p.advance()
			p.advance()
			p.advance()
			return Field{Star: true, Table: name}, nil
		}
	}
	x, err := p.expression()
	if err != nil {
		return Field{}, err
	}
	f := Field{X: x, Text: strings.TrimSpace(p.text[from:min(p.now.at, len(p.text))])}
	f.As, err = p.alias()
	return f, err
}

// starBehind tells whether a star follows the point that is the next token.
func (p *parser) starBehind() bool {
	rest := strings.TrimLeft(p.text[min(p.pos, len(p.text)):], " \t\r\n")
	return strings.HasPrefix(rest, "*")
}

// alias is [AS] name, "" if none follows.
func (p *parser) alias() (string, error) {
	if p.takeWord("AS") {
		if p.now.kind == tokenString {
			t := p.now.text
			p.advance()
			return t, nil
		}
		return p.name()
	}
	if p.now.kind == tokenQuoted {
		return p.name()
	}
	if p.now.kind == tokenWord {
		if t, err := p.name(); err == nil {
			return t, nil
		}
	}
	return "", nil
}

func (p *parser) from(s *Select) error {
	first, err := p.source()
	if err != nil {
		return err
	}
	s.From = append(s.From, first)
	for {
		left, joined := false, false
		switch {
		case p.takeSign(","), p.takeWord("JOIN"), p.takeWords("INNER", "JOIN"), p.takeWords("CROSS", "JOIN"):
			joined = true
		case p.takeWord("LEFT"):
			p.takeWord("OUTER")
			if err := p.word("JOIN"); err != nil {
				return err
			}
			left, joined = true, true
		}
		if !joined {
			return nil
		}
		next, err := p.source()
		if err != nil {
			return err
		}
		next.Left = left
		switch {
		case p.takeWord("ON"):
			if next.On, err = p.expression(); err != nil {
				return err
			}
		case p.now.upper == "USING":
			return p.unsupported("JOIN … USING")
		}
		s.From = append(s.From, next)
	}
}

func (p *parser) source() (Source, error) {
	if p.takeSign("(") {
		q, err := p.query()
		if err != nil {
			return Source{}, err
		}
		if err := p.sign(")"); err != nil {
			return Source{}, err
		}
		as, err := p.alias()
		return Source{Query: q, As: as}, err
	}
	t, err := p.table()
	if err != nil {
		return Source{}, err
	}
	as, err := p.alias()
	if err != nil {
		return Source{}, err
	}
	return Source{Table: t, As: as}, p.hint()
}

// hint passes FORCE INDEX (…) and USE INDEX (…).
func (p *parser) hint() error {
	if !p.takeWord("FORCE") && !p.takeWord("USE") {
		return nil
	}
	if !p.takeWord("INDEX") && !p.takeWord("KEY") {
		return p.syntax()
	}
	if err := p.sign("("); err != nil {
		return err
	}
	for !p.takeSign(")") {
		if p.now.kind == tokenEnd {
			return p.syntax()
		}
		p.advance()
	}
	return nil
}

// tail is WHERE to LIMIT.
func (p *parser) tail(s *Select) (err error) {
	if p.takeWord("WHERE") {
		if s.Where, err = p.expression(); err != nil {
			return err
		}
	}
	if p.takeWords("GROUP", "BY") {
		for {
			x, err := p.expression()
			if err != nil {
				return err
			}
			if s.Group = append(s.Group, x); !p.takeSign(",") {
				break
			}
		}
	}
	if p.now.upper == "HAVING" || p.now.upper == "UNION" || p.now.upper == "WINDOW" {
		return p.unsupported(p.now.upper)
	}
	if p.takeWords("ORDER", "BY") {
		for {
			x, err := p.expression()
			if err != nil {
				return err
			}
			desc := p.takeWord("DESC")
			p.takeWord("ASC")
			if s.Order = append(s.Order, Order{x, desc}); !p.takeSign(",") {
				break
			}
		}
	}
	return p.limit(s)
}

func (p *parser) limit(s *Select) (err error) {
	if !p.takeWord("LIMIT") {
		return nil
	}
	if s.Limit, err = p.operand(); err != nil {
		return err
	}
	switch {
	case p.takeSign(","):
		s.Offset = s.Limit
		s.Limit, err = p.operand()
	case p.takeWord("OFFSET"):
		s.Offset, err = p.operand()
	}
	return err
}

func (p *parser) lockMode(s *Select) error {
	switch {
	case p.takeWord("LOCK"):
		for _, w := range []string{"IN", "SHARE", "MODE"} {
			if err := p.word(w); err != nil {
				return err
			}
		}
		s.Lock = ShareLock
	case p.takeWord("FOR"):
		switch {
		case p.takeWord("SHARE"):
			s.Lock = ShareLock
		case p.takeWord("UPDATE"):
			s.Lock = UpdateLock
			if p.takeWords("SKIP", "LOCKED") {
				s.Lock = UpdateSkipLocked
			} else if p.takeWord("NOWAIT") {
				s.Lock = UpdateNoWait
			}
		default:
			return p.syntax()
		}
	}
	return nil
}

func (p *parser) insert() (Statement, error) {
	s := &Insert{Replace: p.now.upper == "REPLACE"}
	p.advance()
	s.Ignore = p.takeWord("IGNORE")
	p.takeWord("INTO")
	var err error
	if s.Table, err = p.table(); err != nil {
		return nil, err
	}
	if p.now.kind == tokenSign && p.now.text == "(" {
		if s.Columns, err = p.names(); err != nil {
			return nil, err
		}
	}
	switch {
	case p.takeWord("VALUES"), p.takeWord("VALUE"):
		if err := p.rows(s); err != nil {
			return nil, err
		}
	case p.now.upper == "SELECT":
		if s.Query, err = p.query(); err != nil {
			return nil, err
		}
	case p.now.upper == "SET":
		return nil, p.unsupported("INSERT … SET")
	default:
		return nil, p.syntax()
	}
	if p.now.upper == "AS" {
		return nil, p.unsupported("an alias of the new row")
	}
	if p.takeWord("ON") {
		for _, w := range []string{"DUPLICATE", "KEY", "UPDATE"} {
			if err := p.word(w); err != nil {
				return nil, err
			}
		}
		if s.Update, err = p.assignments(); err != nil {
			return nil, err
		}
	}
	if p.now.upper == "RETURNING" {
		return nil, p.unsupported("RETURNING")
	}
	return s, nil
}

func (p *parser) rows(s *Insert) error {
	for {
		if err := p.sign("("); err != nil {
			return err
		}
		row, err := p.rest()
		if err != nil {
			return err
		}
		if s.Rows = append(s.Rows, row); !p.takeSign(",") {
			return nil
		}
	}
}

func (p *parser) assignments() ([]Assignment, error) {
	var list []Assignment
	for {
		x, err := p.column()
		if err != nil {
			return nil, err
		}
		c, _ := x.(Column)
		if err := p.sign("="); err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		if list = append(list, Assignment{c.Name, value}); !p.takeSign(",") {
			return list, nil
		}
	}
}

func (p *parser) update() (Statement, error) {
	p.advance()
	if p.now.upper == "IGNORE" {
		return nil, p.unsupported("UPDATE IGNORE")
	}
	s := &Update{}
	var err error
	if s.Table, err = p.table(); err != nil {
		return nil, err
	}
	if p.now.upper != "SET" {
		return nil, p.unsupported("UPDATE of several tables, or with an alias")
	}
	p.advance()
	if s.Set, err = p.assignments(); err != nil {
		return nil, err
	}
	s.Where, err = p.where("UPDATE")
	return s, err
}

// where is the end of an UPDATE or DELETE.
func (p *parser) where(verb string) (x Expr, err error) {
	if p.takeWord("WHERE") {
		if x, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if p.now.upper == "ORDER" || p.now.upper == "LIMIT" {
		return nil, p.unsupported(verb + " with " + p.now.upper)
	}
	return x, nil
}

// delete is DELETE FROM t …, or DELETE t FROM t …, with an index hint or without.
func (p *parser) delete() (Statement, error) {
	p.advance()
	if p.now.upper == "IGNORE" || p.now.upper == "QUICK" {
		return nil, p.unsupported("DELETE " + p.now.upper)
	}
	s := &Delete{}
	var err error
	several := p.now.upper != "FROM"
	if several {
		if s.Table, err = p.table(); err != nil {
			return nil, err
		}
	}
	if err := p.word("FROM"); err != nil {
		return nil, err
	}
	from, err := p.table()
	if err != nil {
		return nil, err
	}
	if several && from != s.Table {
		return nil, p.unsupported("DELETE from another table than the one that is read")
	}
	s.Table = from
	if err := p.hint(); err != nil {
		return nil, err
	}
	s.Where, err = p.where("DELETE")
	return s, err
}
