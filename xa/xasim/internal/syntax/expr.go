package syntax

import (
	"slices"
	"strconv"
	"strings"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
)

// Expr is an expression.
type Expr interface{ expr() }

// The expressions.
type (
	// Literal is a value.
	Literal struct{ Value datum.Value }
	// Argument is the n-th question mark, from 0.
	Argument struct{ N int }
	// Column is a column, of a table where one is named.
	Column struct{ Database, Table, Name string }
	// Call is a function. Star is COUNT(*).
	Call struct {
		Name string // in capitals
		Args []Expr
		Star bool
	}
	// Unary is NOT or -.
	Unary struct {
		Op string
		X  Expr
	}
	// Binary is an operator between two expressions: + - * / % = <> < <= > >= <=> AND OR XOR LIKE.
	Binary struct {
		Op   string
		L, R Expr
	}
	// In is X [NOT] IN (List).
	In struct {
		X    Expr
		List []Expr
		Not  bool
	}
	// Between is X [NOT] BETWEEN Low AND High.
	Between struct {
		X, Low, High Expr
		Not          bool
	}
	// IsNull is X IS [NOT] NULL.
	IsNull struct {
		X   Expr
		Not bool
	}
	// Variable is @@name.
	Variable struct{ Scope, Name string }
	// Cast is CAST(X AS Type), Type in capitals without its length.
	Cast struct {
		X    Expr
		Type string
	}
	// Default is DEFAULT as a value.
	Default struct{}
)

func (Literal) expr()  {}
func (Argument) expr() {}
func (Column) expr()   {}
func (Call) expr()     {}
func (Unary) expr()    {}
func (Binary) expr()   {}
func (In) expr()       {}
func (Between) expr()  {}
func (IsNull) expr()   {}
func (Variable) expr() {}
func (Cast) expr()     {}
func (Default) expr()  {}

// expression reads one, of the lowest precedence.
func (p *parser) expression() (Expr, error) {
	if t := p.now.kind; t == tokenNumber || t == tokenString || t == tokenHex {
		// Most are literals with nothing behind them that belongs to them.
		if next := p.peek(); next.kind == tokenSign && (next.text == "," || next.text == ")") {
			return p.operand()
		}
	}
	return p.or()
}

func (p *parser) or() (Expr, error) {
	return p.chain(p.and, func() string {
		switch {
		case p.takeWord("OR"), p.takeSign("||"):
			return "OR"
		case p.takeWord("XOR"):
			return "XOR"
		}
		return ""
	})
}

func (p *parser) and() (Expr, error) {
	return p.chain(p.not, func() string {
		if p.takeWord("AND") || p.takeSign("&&") {
			return "AND"
		}
		return ""
	})
}

// chain reads operands with operators of one precedence between them.
func (p *parser) chain(operand func() (Expr, error), operator func() string) (Expr, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for {
		op := operator()
		if op == "" {
			return left, nil
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		left = Binary{op, left, right}
	}
}

func (p *parser) not() (Expr, error) {
	if p.takeWord("NOT") {
		x, err := p.not()
		return Unary{"NOT", x}, err
	}
	return p.comparison()
}

var comparisons = []string{"=", "<>", "!=", "<=>", "<=", ">=", "<", ">"}

func (p *parser) comparison() (Expr, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	for {
		if p.now.kind == tokenSign && slices.Contains(comparisons, p.now.text) {
			op := p.now.text
			if op == "!=" {
				op = "<>"
			}
			p.advance()
			right, err := p.sum()
			if err != nil {
				return nil, err
			}
			left = Binary{op, left, right}
			continue
		}
		next, found, err := p.predicate(left)
		if err != nil || !found {
			return left, err
		}
		left = next
	}
}

// predicate is IS NULL, IN, BETWEEN or LIKE behind left.
func (p *parser) predicate(left Expr) (Expr, bool, error) {
	if p.takeWord("IS") {
		not := p.takeWord("NOT")
		if !p.takeWord("NULL") {
			return nil, false, p.unsupported("IS with anything but NULL")
		}
		return IsNull{left, not}, true, nil
	}
	not := p.now.upper == "NOT" && (p.peek().upper == "IN" || p.peek().upper == "BETWEEN" || p.peek().upper == "LIKE")
	if not {
		p.advance()
	}
	switch {
	case p.takeWord("IN"):
		list, err := p.list()
		return In{left, list, not}, true, err
	case p.takeWord("BETWEEN"):
		low, err := p.sum()
		if err != nil {
			return nil, false, err
		}
		if err := p.word("AND"); err != nil {
			return nil, false, err
		}
		high, err := p.sum()
		return Between{left, low, high, not}, true, err
	case p.takeWord("LIKE"):
		right, err := p.sum()
		var x Expr = Binary{"LIKE", left, right}
		if not {
			x = Unary{"NOT", x}
		}
		return x, true, err
	}
	return nil, false, nil
}

// list is (a, b, …).
func (p *parser) list() ([]Expr, error) {
	if err := p.sign("("); err != nil {
		return nil, err
	}
	if p.now.upper == "SELECT" {
		return nil, p.unsupported("a subquery in an expression")
	}
	return p.rest()
}

// rest is a, b, …) without the opening parenthesis.
func (p *parser) rest() ([]Expr, error) {
	var list []Expr
	for !p.takeSign(")") {
		if len(list) > 0 {
			if err := p.sign(","); err != nil {
				return nil, err
			}
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

func (p *parser) sum() (Expr, error) {
	return p.chain(p.product, func() string {
		switch {
		case p.takeSign("+"):
			return "+"
		case p.takeSign("-"):
			return "-"
		}
		return ""
	})
}

func (p *parser) product() (Expr, error) {
	return p.chain(p.operand, func() string {
		switch {
		case p.takeSign("*"):
			return "*"
		case p.takeSign("/"):
			return "/"
		case p.takeSign("%"), p.takeWord("MOD"):
			return "%"
		}
		return ""
	})
}

func (p *parser) operand() (Expr, error) {
	t := p.now
	switch t.kind {
	case tokenNumber:
		p.advance()
		return Literal{number(t.text)}, nil
	case tokenString:
		return Literal{datum.String(p.adjacent())}, nil
	case tokenHex, tokenBits:
		p.advance()
		return Literal{datum.Hex(t.text)}, nil
	case tokenMark:
		p.advance()
		p.marks++
		return Argument{p.marks - 1}, nil
	case tokenSystem:
		p.advance()
		scope, name, ok := strings.Cut(t.text, ".")
		if !ok {
			return Variable{"", t.text}, nil
		}
		return Variable{strings.ToUpper(scope), name}, nil
	case tokenUser:
		return nil, p.unsupported("user variables")
	case tokenSign:
		return p.signed()
	case tokenQuoted:
		return p.column()
	case tokenWord:
		return p.named()
	default:
		return nil, p.syntax()
	}
}

// adjacent is a string literal and those that follow it at once.
func (p *parser) adjacent() string {
	text := p.now.text
	for p.advance(); p.now.kind == tokenString; p.advance() {
		text += p.now.text
	}
	return text
}

func (p *parser) signed() (Expr, error) {
	switch {
	case p.takeSign("("):
		if p.now.upper == "SELECT" {
			return nil, p.unsupported("a subquery in an expression")
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		if p.now.kind == tokenSign && p.now.text == "," {
			return nil, p.unsupported("a row of several values")
		}
		return x, p.sign(")")
	case p.takeSign("-"):
		if t := p.now; t.kind == tokenNumber {
			p.advance()
			return Literal{negative(t.text)}, nil
		}
		x, err := p.operand()
		return Unary{"-", x}, err
	case p.takeSign("+"):
		return p.operand()
	case p.takeSign("!"):
		x, err := p.operand()
		return Unary{"NOT", x}, err
	}
	return nil, p.syntax()
}

// number is a literal as the server reads it: an integer where it fits one, else exact, or a double with an exponent.
func number(text string) datum.Value {
	switch {
	case strings.ContainsAny(text, "eE"):
		f, _ := strconv.ParseFloat(text, 64)
		return datum.Float64(f)
	case strings.Contains(text, "."):
		return datum.Dec(text)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return datum.Int64(n)
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return datum.Uint64(n)
	}
	return datum.Dec(text)
}

func negative(text string) datum.Value {
	if n, err := strconv.ParseInt("-"+text, 10, 64); err == nil {
		return datum.Int64(n)
	}
	if strings.ContainsAny(text, "eE") {
		f, _ := strconv.ParseFloat("-"+text, 64)
		return datum.Float64(f)
	}
	return datum.Dec("-" + text)
}

// introducers say of which character set a literal is.
var introducers = map[string]bool{"_BINARY": true, "_UTF8MB4": true, "_UTF8": true, "_ASCII": true, "_LATIN1": true}

// plain are functions that may be written without parentheses.
var plain = map[string]bool{"CURRENT_TIMESTAMP": true, "CURRENT_USER": true, "LOCALTIMESTAMP": true, "UTC_TIMESTAMP": true}

// named is what begins with a word: a constant, a function or a column.
func (p *parser) named() (Expr, error) {
	t := p.now
	follows := p.peek()
	opens := follows.kind == tokenSign && follows.text == "("
	switch {
	case t.upper == "NULL":
		p.advance()
		return Literal{}, nil
	case t.upper == "TRUE" || t.upper == "FALSE":
		p.advance()
		return Literal{datum.Bool(t.upper == "TRUE")}, nil
	case t.upper == "DEFAULT" && !opens:
		p.advance()
		return Default{}, nil
	case introducers[t.upper] && (follows.kind == tokenString || follows.kind == tokenHex):
		p.advance()
		text := p.now.text
		p.advance()
		if t.upper == "_BINARY" {
			return Literal{datum.Binary(text)}, nil
		}
		return Literal{datum.String(text)}, nil
	case (t.upper == "CAST" || t.upper == "CONVERT") && opens:
		return p.cast()
	case t.upper == "CASE" || t.upper == "EXISTS" || t.upper == "INTERVAL" && !opens:
		return nil, p.unsupported(t.upper)
	case opens:
		return p.call()
	case plain[t.upper]:
		p.advance()
		return Call{Name: t.upper}, nil
	}
	return p.column()
}

func (p *parser) call() (Expr, error) {
	c := Call{Name: p.now.upper}
	p.advance()
	p.advance()
	if p.takeSign("*") {
		c.Star = true
		return c, p.sign(")")
	}
	if p.now.upper == "DISTINCT" {
		return nil, p.unsupported("DISTINCT in a function")
	}
	args, err := p.rest()
	c.Args = args
	return c, err
}

// cast is CAST(x AS type) or CONVERT(x, type).
func (p *parser) cast() (Expr, error) {
	p.advance()
	p.advance()
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	if !p.takeWord("AS") {
		if err := p.sign(","); err != nil {
			return nil, err
		}
	}
	c := Cast{X: x, Type: p.now.upper}
	if p.now.kind != tokenWord {
		return nil, p.syntax()
	}
	p.advance()
	p.takeWord("INTEGER")
	if p.takeSign("(") {
		for p.now.kind == tokenNumber || p.now.kind == tokenSign && p.now.text == "," {
			p.advance()
		}
		if err := p.sign(")"); err != nil {
			return nil, err
		}
	}
	return c, p.sign(")")
}

// column is name, table.name or database.table.name.
func (p *parser) column() (Expr, error) {
	var parts []string
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if parts = append(parts, name); len(parts) == 3 || !p.takeSign(".") {
			break
		}
	}
	c := Column{Name: parts[len(parts)-1]}
	if len(parts) > 1 {
		c.Table = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		c.Database = parts[0]
	}
	return c, nil
}
