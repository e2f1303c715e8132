package xa

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// parseDSN reads a data source name and refuses what would break a branch.
func parseDSN(dsn string) (*mysql.Config, error) {
	if misplaced.MatchString(dsn[strings.LastIndexByte(dsn, '/')+1:]) {
		return nil, errors.New("data source name: missing the slash after the address; " + wantDSN)
	}
	parsed, err := readDSN(dsn)
	if err != nil {
		return nil, unreadable(dsn, err)
	}
	// Else the driver took a password for the network.
	if !network.MatchString(parsed.Net) {
		return nil, errUnreadable
	}
	var problems []error
	if parsed.MultiStatements {
		problems = append(problems, errors.New(
			"multiStatements=true: of several statements in one packet nobody can tell which one failed; remove it"))
	}
	if parsed.ClientFoundRows {
		problems = append(problems, errors.New(
			"clientFoundRows=true: it changes the meaning of affected rows, which are checked; remove it"))
	}
	if problems = append(problems, badParams(parsed.Params)...); len(problems) > 0 {
		return nil, fmt.Errorf("data source name: %w", listed(problems...))
	}
	return parsed, nil
}

const wantDSN = "want user:password@tcp(host:port)/database?option=value"

var (
	errUnreadable = errors.New("data source name: it cannot be read; " + wantDSN)

	// misplaced is an address behind the last slash: that slash is part of the password, and what the driver makes of
	// the pieces would show them.
	misplaced = regexp.MustCompile(`@[A-Za-z0-9_+.-]*\(`)
	network   = regexp.MustCompile(`^[A-Za-z0-9_+.-]+$`)
)

// errStrict: the driver panics at an option that it had once.
var errStrict = errors.New("the option strict is gone")

func readDSN(dsn string) (parsed *mysql.Config, err error) {
	defer func() {
		if recover() != nil {
			parsed, err = nil, errStrict
		}
	}()
	return mysql.ParseDSN(dsn)
}

// badParams are the problems of options that the driver takes for variables.
func badParams(params map[string]string) []error {
	var problems []error
	for _, param := range sortedKeys(params) {
		scope, name, ok := variableOf(param)
		switch why, mine := ours[name]; {
		case !ok:
			// Its text is not shown: who knows what it is.
			problems = append(problems, errors.New("an option is not the name of a variable: see where & and = stand, and escape values"))
		case scope != "" && scope != "session" && scope != "local":
			problems = append(problems, fmt.Errorf("a variable cannot be set there with the scope %s, only for the session", scope))
		case mine:
			problems = append(problems, fmt.Errorf("%s cannot be set there: %s", name, why))
		}
		if option := misspelled(param); option != "" {
			problems = append(problems, fmt.Errorf("an option of the driver is written %s", option))
		}
	}
	return problems
}

// assignable is what may stand before the = of a SET: a variable of the server, with or without scope, or one of the
// user's own.
var assignable = regexp.MustCompile(
	`^\s*(?:(?:@@\s*)?(?:(session|local|global|persist|persist_only)(?:\s*\.\s*|\s+))?([\w$]+(?:\.[\w$]+)*)|@[\w$.]+)\s*$`)

// variableOf reads an option as the server reads it, in lower case: @@session.sql_mode, SESSION `sql_mode` and sql_mode
// are one variable. name is "" for a variable of the user's own. ok: it can be read.
func variableOf(param string) (scope, name string, ok bool) {
	m := assignable.FindStringSubmatch(strings.ToLower(strings.ReplaceAll(param, "`", "")))
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// driverOptions are the DSN options of the driver that take a value which can be wrong.
var driverOptions = []string{
	"allowAllFiles", "allowCleartextPasswords", "allowFallbackToPlaintext", "allowNativePasswords",
	"allowOldPasswords", "charset", "checkConnLiveness", "clientFoundRows", "collation", "columnsWithAlias", "compress",
	"connectionAttributes", "interpolateParams", "loc", "maxAllowedPacket", "multiStatements", "parseTime",
	"readTimeout", "rejectReadOnly", "serverPubKey", "strict", "timeTruncate", "timeout", "tls", "writeTimeout",
}

// misspelled is the driver option that name means but for its capitals, else "".
func misspelled(name string) string {
	for _, option := range driverOptions {
		if name != option && strings.EqualFold(name, option) {
			return option
		}
	}
	return ""
}

// unreadable says what is wrong with dsn. A password with a slash or a question mark in it can be cut anywhere, so
// nothing of dsn is shown but the name of an option that the driver is known to have.
func unreadable(dsn string, err error) error {
	if reason, ok := strings.CutPrefix(err.Error(), "invalid DSN: "); ok {
		return fmt.Errorf("data source name: %s; %s", reason, wantDSN)
	}
	_, options, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for option := range strings.SplitSeq(options, "&") {
		name, _, _ := strings.Cut(option, "=")
		if !slices.Contains(driverOptions, name) {
			continue
		}
		if _, err := readDSN("/?" + option); err != nil {
			return fmt.Errorf("data source name: the value of option %s is not understood; %s", name, wantDSN)
		}
	}
	return errUnreadable
}

// listed is several problems in one line; nil ones do not count.
func listed(problems ...error) error {
	problems = slices.DeleteFunc(slices.Clone(problems), func(err error) bool { return err == nil })
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	return &listError{problems}
}

type listError struct{ problems []error }

func (e *listError) Error() string {
	parts := make([]string, len(e.problems))
	for i, p := range e.problems {
		parts[i] = p.Error()
	}
	return strings.Join(parts, "; ")
}

func (e *listError) Unwrap() []error { return e.problems }

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
