package syntax

import (
	"strconv"
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
)

// control is a statement about transactions, sessions or the server.
func (p *parser) control() (Statement, error) {
	switch first := p.now.upper; first {
	case "XA":
		p.advance()
		return p.xa()
	case "BEGIN":
		p.advance()
		p.takeWord("WORK")
		return &Begin{}, nil
	case "START":
		return p.startTransaction()
	case "COMMIT":
		p.advance()
		p.takeWord("WORK")
		return &Commit{}, nil
	case "ROLLBACK":
		return p.rollback()
	case "SAVEPOINT":
		p.advance()
		n, err := p.name()
		return &Savepoint{n}, err
	case "RELEASE":
		p.advance()
		if err := p.word("SAVEPOINT"); err != nil {
			return nil, err
		}
		n, err := p.name()
		return &Release{n}, err
	case "SET":
		p.advance()
		return p.set()
	case "KILL":
		p.advance()
		s := &Kill{Query: p.takeWord("QUERY")}
		if !s.Query {
			p.takeWord("CONNECTION")
		}
		var err error
		s.ID, err = p.operand()
		return s, err
	case "USE":
		p.advance()
		n, err := p.name()
		return &Use{n}, err
	case "SHOW":
		p.advance()
		return p.show()
	case "FLUSH":
		return p.flush()
	case "LOCK":
		return p.lockTables()
	case "UNLOCK":
		p.advance()
		if !p.takeWord("TABLES") {
			return &UnlockTables{}, p.word("TABLE")
		}
		return &UnlockTables{}, nil
	case "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE", "CHECK", "RENAME", "LOAD", "CALL", "WITH", "HANDLER", "PREPARE",
		"EXECUTE", "DEALLOCATE", "RESET", "SHUTDOWN", "INSTALL", "REPAIR", "CHANGE", "STOP", "PURGE":
		return p.other()
	default:
		return nil, p.syntax()
	}
}

func (p *parser) startTransaction() (Statement, error) {
	p.advance()
	if err := p.word("TRANSACTION"); err != nil {
		return nil, err
	}
	if p.takeWord("READ") {
		if p.now.upper == "ONLY" {
			return nil, p.unsupported("START TRANSACTION READ ONLY")
		}
		return &Begin{}, p.word("WRITE")
	}
	if p.now.kind == tokenWord {
		return nil, p.unsupported("this kind of START TRANSACTION")
	}
	return &Begin{}, nil
}

func (p *parser) rollback() (Statement, error) {
	p.advance()
	p.takeWord("WORK")
	if !p.takeWord("TO") {
		return &Rollback{}, nil
	}
	p.takeWord("SAVEPOINT")
	n, err := p.name()
	return &Rollback{To: n}, err
}

func (p *parser) xa() (Statement, error) {
	verb := p.now.upper
	switch verb {
	case "BEGIN":
		verb = "START"
	case "START", "END", "PREPARE", "COMMIT", "ROLLBACK":
	case "RECOVER":
		p.advance()
		return p.recover()
	default:
		return nil, p.syntax()
	}
	p.advance()
	s := &XA{Verb: verb}
	var err error
	if s.XID, err = p.xid(); err != nil {
		return nil, err
	}
	switch verb {
	case "START":
		s.Resume, s.Join = p.takeWord("RESUME"), p.takeWord("JOIN")
	case "END":
		if s.Suspend = p.takeWord("SUSPEND"); s.Suspend && p.takeWord("FOR") {
			return nil, p.unsupported("FOR MIGRATE")
		}
	case "COMMIT":
		if p.takeWord("ONE") {
			s.OnePhase = true
			return s, p.word("PHASE")
		}
	}
	return s, nil
}

func (p *parser) recover() (Statement, error) {
	s := &Recover{}
	switch {
	case p.takeWord("CONVERT"):
		s.Convert = true
		return s, p.word("XID")
	case p.now.upper == "FORMAT":
		p.advance()
		if err := p.sign("="); err != nil {
			return nil, err
		}
		if p.now.kind != tokenString && p.now.kind != tokenWord {
			return nil, p.syntax()
		}
		s.Format = strings.ToUpper(p.now.text)
		p.advance()
	}
	return s, nil
}

// xid is 'gtrid'[,'bqual'[,format]]: literals only. The lengths and the number are for the server to judge.
func (p *parser) xid() (XID, error) {
	x := XID{Format: 1}
	var err error
	if x.GTRID, err = p.xidPart(); err != nil || !p.takeSign(",") {
		return x, err
	}
	if x.BQUAL, err = p.xidPart(); err != nil || !p.takeSign(",") {
		return x, err
	}
	if p.now.kind != tokenNumber {
		return x, p.syntax()
	}
	if x.Format, err = strconv.ParseUint(p.now.text, 10, 64); err != nil {
		return x, p.syntax()
	}
	p.advance()
	return x, nil
}

func (p *parser) xidPart() (string, error) {
	t := p.now
	switch t.kind {
	case tokenString, tokenHex, tokenBits:
		p.advance()
		if len(t.text) > 64 {
			return "", &Error{Near: ""}
		}
		return t.text, nil
	default:
		return "", p.syntax()
	}
}

func (p *parser) set() (Statement, error) {
	scope := ""
	switch {
	case p.takeWord("NAMES"):
		if p.now.kind != tokenWord && p.now.kind != tokenString {
			return nil, p.syntax()
		}
		s := &SetNames{strings.ToLower(p.now.text)}
		p.advance()
		if p.takeWord("COLLATE") {
			p.advance()
		}
		return s, nil
	case p.now.upper == "TRANSACTION":
		return p.setTransaction("")
	case (p.now.upper == "SESSION" || p.now.upper == "GLOBAL" || p.now.upper == "LOCAL") && p.peek().upper == "TRANSACTION":
		scope = p.now.upper
		p.advance()
		return p.setTransaction(strings.Replace(scope, "LOCAL", "SESSION", 1))
	case p.now.upper == "PASSWORD" || p.now.upper == "ROLE" || p.now.upper == "DEFAULT" || p.now.upper == "CHARACTER":
		return nil, p.unsupported("SET " + p.now.upper)
	}
	s := &Set{}
	for {
		v, err := p.setVariable(&scope)
		if err != nil {
			return nil, err
		}
		if s.Variables = append(s.Variables, v); !p.takeSign(",") {
			return s, nil
		}
	}
}

// setVariable is [scope] name = value. A scope holds for those behind it as well, as it does on the server.
func (p *parser) setVariable(scope *string) (SetVariable, error) {
	switch p.now.kind {
	case tokenUser:
		return SetVariable{}, p.unsupported("user variables")
	case tokenSystem:
		name := p.now.text
		if s, n, ok := strings.Cut(name, "."); ok {
			*scope, name = strings.ToUpper(s), n
		} else {
			*scope = ""
		}
		p.advance()
		return p.setValue(*scope, name)
	default:
	}
	switch {
	case p.takeWord("SESSION"), p.takeWord("LOCAL"):
		*scope = "SESSION"
	case p.takeWord("GLOBAL"):
		*scope = "GLOBAL"
	}
	name, err := p.name()
	if err != nil {
		return SetVariable{}, err
	}
	return p.setValue(*scope, strings.ToLower(name))
}

func (p *parser) setValue(scope, name string) (SetVariable, error) {
	if !p.takeSign("=") && !p.takeSign(":=") {
		return SetVariable{}, p.syntax()
	}
	v := SetVariable{Scope: scope, Name: name}
	// ON, OFF and the like are words without quotes.
	if p.now.kind == tokenWord {
		follows := p.peek()
		if follows.kind == tokenEnd || follows.kind == tokenSign && (follows.text == "," || follows.text == ";") {
			v.X = Literal{datum.String(p.now.text)}
			if p.now.upper == "DEFAULT" {
				v.X = Default{}
			}
			p.advance()
			return v, nil
		}
	}
	var err error
	v.X, err = p.expression()
	return v, err
}

func (p *parser) setTransaction(scope string) (Statement, error) {
	p.advance()
	s := &SetTransaction{Scope: scope}
	for {
		switch {
		case p.takeWords("ISOLATION", "LEVEL"):
			s.Level = p.now.upper
			p.advance()
			if s.Level != "SERIALIZABLE" {
				s.Level += " " + p.now.upper
				p.advance()
			}
		case p.takeWords("READ", "WRITE"):
			s.Access = "READ WRITE"
		case p.takeWords("READ", "ONLY"):
			s.Access = "READ ONLY"
		default:
			return nil, p.syntax()
		}
		if !p.takeSign(",") {
			return s, nil
		}
	}
}

func (p *parser) show() (Statement, error) {
	s := &Show{}
	if p.takeWord("FULL") {
		s.Full = true
	}
	if p.takeWord("GLOBAL") || p.takeWord("SESSION") {
		s.Full = false
	}
	switch {
	case p.takeWords("TABLE", "STATUS"):
		s.What = "TABLE STATUS"
	case p.now.upper == "PROCESSLIST", p.now.upper == "STATUS", p.now.upper == "VARIABLES", p.now.upper == "TABLES",
		p.now.upper == "DATABASES", p.now.upper == "WARNINGS":
		s.What = p.now.upper
		p.advance()
	default:
		return nil, p.unsupported("SHOW of this")
	}
	var err error
	if p.takeWord("FROM") || p.takeWord("IN") {
		if s.From, err = p.name(); err != nil {
			return nil, err
		}
	}
	if p.takeWord("LIKE") {
		if p.now.kind != tokenString {
			return nil, p.syntax()
		}
		s.Like = p.adjacent()
	}
	if p.now.upper == "WHERE" {
		return nil, p.unsupported("SHOW … WHERE")
	}
	return s, nil
}

func (p *parser) flush() (Statement, error) {
	p.advance()
	s := &Flush{}
	for p.now.kind == tokenWord {
		s.What += " " + p.now.upper
		p.advance()
	}
	s.What = strings.TrimSpace(s.What)
	return s, nil
}

func (p *parser) lockTables() (Statement, error) {
	p.advance()
	if !p.takeWord("TABLES") {
		if err := p.word("TABLE"); err != nil {
			return nil, err
		}
	}
	s := &LockTables{}
	for {
		t, err := p.table()
		if err != nil {
			return nil, err
		}
		write := p.takeWord("WRITE")
		if !write {
			if err := p.word("READ"); err != nil {
				return nil, err
			}
		}
		s.Tables, s.Write = append(s.Tables, t), append(s.Write, write)
		if !p.takeSign(",") {
			return s, nil
		}
	}
}
