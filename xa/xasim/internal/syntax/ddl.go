package syntax

import "strings"

// definition is CREATE, DROP, ALTER or TRUNCATE.
func (p *parser) definition() (Statement, error) {
	verb := p.now.upper
	next := p.peek().upper
	switch {
	case verb == "CREATE" && (next == "DATABASE" || next == "SCHEMA"):
		return p.createDatabase()
	case verb == "CREATE" && (next == "TABLE" || next == "TEMPORARY"):
		return p.createTable()
	case verb == "DROP" && (next == "DATABASE" || next == "SCHEMA"):
		p.advance()
		p.advance()
		s := &DropDatabase{IfExists: p.takeWords("IF", "EXISTS")}
		var err error
		s.Name, err = p.name()
		return s, err
	case verb == "DROP" && next == "TABLE":
		return p.dropTable()
	case verb == "TRUNCATE":
		p.advance()
		p.takeWord("TABLE")
		t, err := p.table()
		return &TruncateTable{t}, err
	case verb == "ALTER" && next == "TABLE":
		return p.alterTable()
	}
	return p.other()
}

// other is a statement that is known by its words only.
func (p *parser) other() (Statement, error) {
	what := p.now.upper
	if n := p.peek(); n.kind == tokenWord {
		what += " " + n.upper
	}
	for p.now.kind != tokenEnd {
		if p.takeSign(";") && p.now.kind != tokenEnd {
			return nil, p.syntax()
		}
		p.advance()
	}
	return &Other{what}, nil
}

func (p *parser) ifNotExists() (bool, error) {
	if !p.takeWord("IF") {
		return false, nil
	}
	if err := p.word("NOT"); err != nil {
		return false, err
	}
	return true, p.word("EXISTS")
}

func (p *parser) createDatabase() (Statement, error) {
	p.advance()
	p.advance()
	s := &CreateDatabase{}
	var err error
	if s.IfNotExists, err = p.ifNotExists(); err != nil {
		return nil, err
	}
	if s.Name, err = p.name(); err != nil {
		return nil, err
	}
	for p.now.kind == tokenWord {
		known, err := p.charset(&s.Charset, &s.Col)
		if err != nil {
			return nil, err
		}
		if !known {
			return nil, p.unsupported("this option of CREATE DATABASE")
		}
	}
	return s, nil
}

// charset is [DEFAULT] CHARACTER SET [=] x, CHARSET [=] x or [DEFAULT] COLLATE [=] x, if one comes now.
func (p *parser) charset(charset, collation *string) (bool, error) {
	if p.now.upper == "DEFAULT" {
		if n := p.peek().upper; n != "CHARACTER" && n != "CHARSET" && n != "COLLATE" {
			return false, nil
		}
		p.advance()
	}
	into := charset
	switch {
	case p.takeWords("CHARACTER", "SET"), p.takeWord("CHARSET"):
	case p.takeWord("COLLATE"):
		into = collation
	default:
		return false, nil
	}
	p.takeSign("=")
	if p.now.kind != tokenWord && p.now.kind != tokenString && p.now.kind != tokenQuoted {
		return false, p.syntax()
	}
	*into = strings.ToLower(p.now.text)
	p.advance()
	return true, nil
}

func (p *parser) dropTable() (Statement, error) {
	p.advance()
	p.advance()
	s := &DropTable{IfExists: p.takeWords("IF", "EXISTS")}
	for {
		t, err := p.table()
		if err != nil {
			return nil, err
		}
		if s.Tables = append(s.Tables, t); !p.takeSign(",") {
			return s, nil
		}
	}
}

func (p *parser) createTable() (Statement, error) {
	p.advance()
	s := &CreateTable{Temporary: p.takeWord("TEMPORARY")}
	if err := p.word("TABLE"); err != nil {
		return nil, err
	}
	var err error
	if s.IfNotExists, err = p.ifNotExists(); err != nil {
		return nil, err
	}
	if s.Table, err = p.table(); err != nil {
		return nil, err
	}
	if p.now.upper == "LIKE" || p.now.upper == "AS" || p.now.upper == "SELECT" {
		return nil, p.unsupported("CREATE TABLE … " + p.now.upper)
	}
	if err := p.sign("("); err != nil {
		return nil, err
	}
	for {
		if err := p.element(s); err != nil {
			return nil, err
		}
		if !p.takeSign(",") {
			break
		}
	}
	if err := p.sign(")"); err != nil {
		return nil, err
	}
	return s, p.tableOptions(s)
}

func (p *parser) tableOptions(s *CreateTable) error {
	for p.now.kind == tokenWord {
		known, err := p.charset(&s.Charset, &s.Collation)
		if err != nil {
			return err
		}
		if known {
			p.takeSign(",")
			continue
		}
		option := p.now.upper
		switch option {
		case "ENGINE", "COMMENT", "AUTO_INCREMENT", "ROW_FORMAT":
		default:
			return p.unsupported("this option of CREATE TABLE")
		}
		p.advance()
		p.takeSign("=")
		if p.now.kind == tokenEnd {
			return p.syntax()
		}
		switch option {
		case "ENGINE":
			s.Engine = p.now.text
		case "COMMENT":
			s.Comment = p.now.text
		case "AUTO_INCREMENT":
			return p.unsupported("a first AUTO_INCREMENT")
		}
		p.advance()
		p.takeSign(",")
	}
	return nil
}

// element is a column or a key of CREATE TABLE.
func (p *parser) element(s *CreateTable) error {
	if p.now.kind == tokenWord {
		switch p.now.upper {
		case "PRIMARY", "UNIQUE", "KEY", "INDEX":
			k, err := p.key()
			s.Keys = append(s.Keys, k)
			return err
		case "CONSTRAINT", "FOREIGN", "CHECK", "FULLTEXT", "SPATIAL":
			return p.unsupported(p.now.upper + " in CREATE TABLE")
		}
	}
	c, err := p.columnDef()
	s.Columns = append(s.Columns, c)
	return err
}

func (p *parser) key() (KeyDef, error) {
	k := KeyDef{}
	switch {
	case p.takeWords("PRIMARY", "KEY"):
		k.Primary, k.Unique = true, true
	case p.takeWord("UNIQUE"):
		k.Unique = true
		if !p.takeWord("KEY") {
			p.takeWord("INDEX")
		}
	case p.takeWord("KEY"), p.takeWord("INDEX"):
	}
	if p.now.kind == tokenQuoted || p.now.kind == tokenWord {
		n, err := p.name()
		if err != nil {
			return k, err
		}
		k.Name = n
	}
	if err := p.sign("("); err != nil {
		return k, err
	}
	for {
		n, err := p.name()
		if err != nil {
			return k, err
		}
		if p.now.kind == tokenSign && p.now.text == "(" {
			return k, p.unsupported("a key on the beginning of a column")
		}
		if k.Columns = append(k.Columns, n); !p.takeSign(",") {
			break
		}
	}
	return k, p.sign(")")
}

func (p *parser) columnDef() (ColumnDef, error) {
	c := ColumnDef{}
	var err error
	if c.Name, err = p.name(); err != nil {
		return c, err
	}
	if c.Type, err = p.columnType(); err != nil {
		return c, err
	}
	for p.now.kind == tokenWord {
		known, err := p.charset(&c.Type.Charset, &c.Type.Collation)
		if err != nil {
			return c, err
		}
		if known {
			continue
		}
		done, err := p.columnOption(&c)
		if err != nil || done {
			return c, err
		}
	}
	return c, nil
}

func (p *parser) columnOption(c *ColumnDef) (done bool, err error) {
	switch {
	case p.takeWords("NOT", "NULL"):
		c.NotNull = true
	case p.takeWord("NULL"):
	case p.takeWord("DEFAULT"):
		c.Default, err = p.operand()
	case p.takeWords("ON", "UPDATE"):
		c.OnUpdate, err = p.operand()
	case p.takeWord("AUTO_INCREMENT"):
		c.AutoIncrement = true
	case p.takeWords("PRIMARY", "KEY"), p.takeWord("KEY"):
		c.Primary = true
	case p.takeWord("UNIQUE"):
		p.takeWord("KEY")
		c.Unique = true
	case p.takeWord("COMMENT"):
		if p.now.kind != tokenString {
			return false, p.syntax()
		}
		c.Comment = p.adjacent()
	case p.now.upper == "FIRST" || p.now.upper == "AFTER":
		return true, nil
	default:
		return false, p.unsupported("this part of a column")
	}
	return false, err
}

// synonyms are other names of types.
var synonyms = map[string]string{
	"integer": "int", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "real": "double",
	"bool": "tinyint", "boolean": "tinyint",
}

func (p *parser) columnType() (TypeDef, error) {
	if p.now.kind != tokenWord {
		return TypeDef{}, p.syntax()
	}
	t := TypeDef{Name: strings.ToLower(p.now.text)}
	if t.Name == "bool" || t.Name == "boolean" {
		t.Args = []int{1}
	}
	if s, ok := synonyms[t.Name]; ok {
		t.Name = s
	}
	p.advance()
	p.takeWord("PRECISION")
	if p.takeSign("(") {
		for !p.takeSign(")") {
			if len(t.Args)+len(t.Members) > 0 {
				if err := p.sign(","); err != nil {
					return t, err
				}
			}
			if p.now.kind == tokenString {
				t.Members = append(t.Members, p.adjacent())
				continue
			}
			n, err := p.integer()
			if err != nil {
				return t, err
			}
			t.Args = append(t.Args, n)
		}
	}
	if p.takeWord("UNSIGNED") {
		t.Unsigned = true
	}
	p.takeWord("SIGNED")
	return t, nil
}

func (p *parser) alterTable() (Statement, error) {
	p.advance()
	p.advance()
	s := &AlterTable{}
	var err error
	if s.Table, err = p.table(); err != nil {
		return nil, err
	}
	for {
		switch {
		case p.takeWord("ADD"):
			p.takeWord("COLUMN")
			if p.now.kind == tokenWord && (p.now.upper == "KEY" || p.now.upper == "INDEX" || p.now.upper == "UNIQUE" ||
				p.now.upper == "PRIMARY" || p.now.upper == "CONSTRAINT" || p.now.upper == "FOREIGN") {
				return nil, p.unsupported("ALTER TABLE … ADD " + p.now.upper)
			}
			add := AddColumn{}
			if add.Column, err = p.columnDef(); err != nil {
				return nil, err
			}
			if add.First = p.takeWord("FIRST"); !add.First && p.takeWord("AFTER") {
				if add.After, err = p.name(); err != nil {
					return nil, err
				}
			}
			s.Add = append(s.Add, add)
		case p.takeWord("COMMENT"):
			p.takeSign("=")
			if p.now.kind != tokenString {
				return nil, p.syntax()
			}
			text := p.adjacent()
			s.Comment = &text
		default:
			return nil, p.unsupported("this part of ALTER TABLE")
		}
		if !p.takeSign(",") {
			return s, nil
		}
	}
}
