package xasim

import (
	"strconv"
	"strings"
	"time"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
)

// variableKind is what values a variable takes.
type variableKind uint8

const (
	kindText variableKind = iota
	kindNumber
	kindBool
)

// variable is one system variable.
type variable struct {
	kind     variableKind
	mysql    string // the default; where it is missing the server does not know the variable
	mariadb  string
	readOnly bool
	global   bool // it has no value of a session's own
	// inert: the simulated server does what it does with the default; another value is not supported.
	inert bool
}

const missing = "\x00"

const (
	mysqlMode = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO," +
		"NO_ENGINE_SUBSTITUTION"
	mariadbMode = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION"
	mysqlOrder  = "utf8mb4_0900_ai_ci"
	mariaOrder  = "utf8mb4_uca1400_ai_ci"
	maxRows     = "18446744073709551615"
)

func same(kind variableKind, value string) variable {
	return variable{kind: kind, mysql: value, mariadb: value}
}

func fixed(kind variableKind, mysql, mariadb string) variable {
	return variable{kind: kind, mysql: mysql, mariadb: mariadb, readOnly: true, global: true}
}

func inert(kind variableKind, mysql, mariadb string) variable {
	return variable{kind: kind, mysql: mysql, mariadb: mariadb, inert: true}
}

func global(kind variableKind, mysql, mariadb string) variable {
	return variable{kind: kind, mysql: mysql, mariadb: mariadb, global: true}
}

// variables are those that can be read, with the defaults that were seen (server-facts, head).
var variables = map[string]variable{
	"autocommit":                        same(kindBool, "1"),
	"binlog_format":                     inert(kindText, "ROW", "MIXED"),
	"character_set_client":              same(kindText, "utf8mb4"),
	"character_set_connection":          same(kindText, "utf8mb4"),
	"character_set_results":             same(kindText, "utf8mb4"),
	"character_set_server":              inert(kindText, "utf8mb4", "utf8mb4"),
	"check_constraint_checks":           inert(kindBool, missing, "1"),
	"collation_connection":              {kind: kindText, mysql: mysqlOrder, mariadb: mariaOrder},
	"collation_server":                  inert(kindText, mysqlOrder, mariaOrder),
	"completion_type":                   inert(kindText, "NO_CHAIN", "NO_CHAIN"),
	"datadir":                           fixed(kindText, "/var/lib/mysql/", "/var/lib/mysql/"),
	"default_storage_engine":            inert(kindText, "InnoDB", "InnoDB"),
	"foreign_key_checks":                inert(kindBool, "1", "1"),
	"hostname":                          fixed(kindText, "", ""),
	"idle_readonly_transaction_timeout": inert(kindNumber, missing, "0"),
	"idle_transaction_timeout":          inert(kindNumber, missing, "0"),
	"idle_write_transaction_timeout":    inert(kindNumber, missing, "0"),
	"innodb_flush_log_at_trx_commit":    global(kindNumber, "1", "1"),
	"innodb_lock_wait_timeout":          same(kindNumber, "50"),
	"innodb_rollback_on_timeout":        fixed(kindBool, "0", "0"),
	"interactive_timeout":               same(kindNumber, "28800"),
	"local_infile":                      fixed(kindBool, "0", "0"),
	"lock_wait_timeout":                 {kind: kindNumber, mysql: "31536000", mariadb: "86400"},
	"log_bin":                           fixed(kindBool, "1", "0"),
	"lower_case_table_names":            fixed(kindNumber, "0", "0"),
	"max_allowed_packet":                global(kindNumber, "67108864", "16777216"),
	"max_connections":                   global(kindNumber, "1000", "1000"),
	"max_execution_time":                inert(kindNumber, "0", missing),
	"max_statement_time":                inert(kindNumber, missing, "0"),
	"performance_schema":                fixed(kindBool, "1", "0"),
	"port":                              fixed(kindNumber, "3306", "3306"),
	"read_only":                         global(kindBool, "0", "0"),
	"server_id":                         fixed(kindNumber, "1", "1"),
	"server_uuid":                       fixed(kindText, "", missing),
	"sql_auto_is_null":                  inert(kindBool, "0", "0"),
	"sql_big_selects":                   inert(kindBool, "1", "1"),
	"sql_log_bin":                       fixed(kindBool, "1", "1"),
	"sql_mode":                          {kind: kindText, mysql: mysqlMode, mariadb: mariadbMode},
	"sql_safe_updates":                  inert(kindBool, "0", "0"),
	"sql_select_limit":                  inert(kindText, maxRows, maxRows),
	"sync_binlog":                       global(kindNumber, "1", "0"),
	"system_time_zone":                  fixed(kindText, "UTC", "UTC"),
	"time_zone":                         same(kindText, "SYSTEM"),
	"transaction_isolation":             {kind: kindText, mysql: "REPEATABLE-READ", mariadb: "REPEATABLE-READ"},
	"transaction_read_only":             inert(kindBool, "0", "0"),
	"tx_isolation":                      {kind: kindText, mysql: missing, mariadb: "REPEATABLE-READ"},
	"unique_checks":                     inert(kindBool, "1", "1"),
	"version":                           fixed(kindText, "", ""),
	"version_comment":                   fixed(kindText, "xasim", "xasim"),
	"wait_timeout":                      same(kindNumber, "28800"),
	"wsrep_on":                          inert(kindBool, missing, "0"),
	"xa_detach_on_prepare":              {kind: kindBool, mysql: "1", mariadb: missing},
}

// settings are values of variables, of the server or of one session.
type settings map[string]string

// globals are the server's first values.
func (srv *Server) globalDefaults() settings {
	all := settings{}
	for name, v := range variables {
		value := v.mysql
		if srv.kind.mariadb {
			value = v.mariadb
		}
		if value != missing {
			all[name] = value
		}
	}
	all["version"] = srv.kind.version
	all["hostname"] = srv.name
	if srv.kind.mariadb {
		all["datadir"] = "/var/lib/mysql/" + srv.name + "/"
	} else {
		all["server_uuid"] = srv.uuid
	}
	all["log_bin"] = datum.Bool(srv.kind.binlog).Text()
	if srv.kind.attached && !srv.kind.mariadb {
		all["xa_detach_on_prepare"] = "0"
	}
	return all
}

func (v settings) seconds(name string) time.Duration {
	n, _ := strconv.ParseInt(v[name], 10, 64)
	return time.Duration(n) * time.Second
}

func (v settings) on(name string) bool { return v[name] == "1" }

// read is @@name or @@scope.name.
func (s *session) read(scope, name string) (datum.Value, error) {
	from := s.variables
	value, known := from[name]
	if scope == "GLOBAL" || variables[name].global {
		value, known = s.server.globals[name]
	}
	if !known {
		return datum.Value{}, errVariable(name)
	}
	if variables[name].kind == kindText {
		return datum.String(value), nil
	}
	n, _ := strconv.ParseInt(value, 10, 64)
	return datum.Int64(n), nil
}

// assign is SET scope name = value; value "" with unset is DEFAULT.
func (s *session) assign(scope, name string, value datum.Value, unset bool) error {
	v, known := variables[name]
	current, here := s.server.globals[name]
	switch {
	case !known || !here:
		return errVariable(name)
	case v.readOnly:
		return failure(1238, "HY000", "Variable '%s' is a read only variable", name)
	case v.global && scope != "GLOBAL":
		return failure(1229, "HY000", "Variable '%s' is a GLOBAL variable and should be set with SET GLOBAL", name)
	case scope == "GLOBAL" && s.lacks(SystemVariables):
		return errNeeds("SUPER or SYSTEM_VARIABLES_ADMIN")
	case name == "xa_detach_on_prepare" && s.lacks(SystemVariables):
		return errNeeds("SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN")
	}
	text := current
	if !unset {
		var err error
		if text, err = normal(v.kind, name, value); err != nil {
			return err
		}
	}
	if v.inert && text != current && !strings.EqualFold(text, current) {
		return unsupported("another value of "+name+" than "+current, "SET "+name+" = "+text)
	}
	if err := s.check(name, text); err != nil {
		return err
	}
	if scope == "GLOBAL" {
		s.server.globals[name] = text
		return nil
	}
	s.variables[name] = text
	return nil
}

// normal is value as settings keep it.
func normal(kind variableKind, name string, value datum.Value) (string, error) {
	text := value.Text()
	switch kind {
	case kindBool:
		switch strings.ToUpper(text) {
		case "1", "ON", "TRUE":
			return "1", nil
		case "0", "OFF", "FALSE":
			return "0", nil
		}
		return "", failure(1231, "42000", "Variable '%s' can't be set to the value of '%s'", name, text)
	case kindNumber:
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return "", failure(1232, "42000", "Incorrect argument type to variable '%s'", name)
		}
	case kindText:
	}
	return text, nil
}

// check refuses values that the simulated server would not honour.
func (s *session) check(name, text string) error {
	switch name {
	case "time_zone":
		if _, err := offset(text); err != nil {
			return err
		}
	case "sql_mode":
		for mode := range strings.SplitSeq(strings.ToUpper(text), ",") {
			switch mode {
			case "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "PIPES_AS_CONCAT", "ANSI", "ORACLE":
				return unsupported("sql_mode "+mode, "SET sql_mode = "+text)
			}
		}
		if !strings.Contains(strings.ToUpper(text), "STRICT_") && !strings.Contains(strings.ToUpper(text), "TRADITIONAL") {
			return unsupported("a sql_mode that is not strict", "SET sql_mode = "+text)
		}
	case "transaction_isolation", "tx_isolation":
		return checkLevel(strings.ReplaceAll(strings.ToUpper(text), "-", " "))
	case "character_set_client", "character_set_connection", "character_set_results":
		if !strings.HasPrefix(text, "utf8") {
			return unsupported("character set "+text, "SET "+name+" = "+text)
		}
	}
	return nil
}

func checkLevel(level string) error {
	switch level {
	case "READ COMMITTED", "REPEATABLE READ":
		return nil
	}
	return unsupported("isolation level "+level, "SET TRANSACTION ISOLATION LEVEL "+level)
}

// offset is a time zone as a distance from UTC. The server has no table of zones by name.
func offset(zone string) (time.Duration, error) {
	bad := failure(1298, "HY000", "Unknown or incorrect time zone: '%s'", zone)
	if strings.EqualFold(zone, "SYSTEM") {
		return 0, nil
	}
	if len(zone) < 2 || zone[0] != '+' && zone[0] != '-' {
		return 0, bad
	}
	h, m, ok := strings.Cut(zone[1:], ":")
	hours, err1 := strconv.Atoi(h)
	minutes, err2 := strconv.Atoi(m)
	if !ok || err1 != nil || err2 != nil || hours > 14 || minutes > 59 {
		return 0, bad
	}
	d := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if zone[0] == '-' {
		return -d, nil
	}
	return d, nil
}
