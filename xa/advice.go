package xa

import (
	"crypto/tls"
	"errors"

	"github.com/go-sql-driver/mysql"
)

// adviceFor says what to do about e, "" where there is nothing to add to the server's own words.
func adviceFor(e *Error) string {
	switch {
	case errors.Is(e.Err, mysql.ErrPktTooLarge):
		return "the statement is larger than max_allowed_packet of the server, nothing was sent: use smaller batches, or raise max_allowed_packet"
	case e.Number == 0 && e.Verb == VerbConnect:
		return unconnectedAdvice(e.Err)
	case e.Number == 0 && errors.Is(e.Err, ErrSessionLost):
		return lostAdvice(e.Verb) + slowAdvice(e.Err)
	}
	switch e.Number {
	case errXANota:
		if e.Verb == VerbCommit || e.Verb == VerbRollback {
			return "this proves nothing: end the session that may hold the branch, then look in XA RECOVER and in the ledger"
		}
	case errLockWait:
		if e.Verb == VerbExec {
			return "another transaction or prepared branch holds the lock; the statement alone was undone"
		}
		if e.Verb == VerbPrepare {
			return "the server rolled the branch back (FLUSH TABLES WITH READ LOCK, or a backup, holds the commit lock): " + sendAgain
		}
		return "something holds the commit lock (FLUSH TABLES WITH READ LOCK, or a backup): the branch stays prepared, repeat this later"
	case errDeadlock, errXADeadlock, errXATimedOut, errXARolledBack:
		return "the branch is lost: " + sendAgain
	case errXAState:
		if e.Word == wordRollbackOnly {
			return "the branch is lost: " + sendAgain
		}
		return "the session is not in the state it should be in: discard it"
	case errXAOutside:
		return "the session has work outside of the branch: discard it"
	case errXADuplicate:
		return "a branch of this name exists already, which a new epoch never makes: look for a second process under this job name"
	case errReadOnly:
		if e.Verb == VerbCommit || e.Verb == VerbRollback {
			return "the server is read-only: the branch stays prepared; make the server writable, then this can be sent again"
		}
		return "the server is read-only: make it writable, or name the writable one if this is a replica; " + sendAgain
	case errXARMErr:
		if e.Verb == VerbRecover {
			return "as an administrator: GRANT XA_RECOVER_ADMIN ON *.* to this user"
		}
	case errPacketTooLarge:
		return "the statement is larger than the server's max_allowed_packet: use smaller batches, or raise max_allowed_packet"
	}
	if endsSession(e.Number) {
		return lostAdvice(e.Verb)
	}
	if e.Number == errNoDatabase && e.Verb != VerbConnect {
		return "" // it is not the DSN's
	}
	return connectAdvice[e.Number]
}

// sendAgain is for rows that the server has not kept. Whoever uses this package without a sink has to do both themselves.
const sendAgain = "its rows have to be sent again: close the sink and open it again, the source then goes on before them"

// lostAdvice is what to do about an answer that was not seen.
func lostAdvice(verb Verb) string {
	switch verb {
	case VerbPrepare:
		return "only XA RECOVER shows whether the branch is prepared: close the sink and open it again, which ends the session and looks"
	case VerbCommit, VerbRollback:
		return "this may be sent again only when the session is gone from the server: close the sink and open it again, which sees to that"
	case VerbStart, VerbExec, VerbSavepoint, VerbRollbackTo, VerbEnd:
		return "the branch is gone with its session: " + sendAgain
	case VerbNone, VerbConnect, VerbRecover, VerbQuery, VerbMark, VerbKill:
	}
	return "check that the server runs and is reachable, then repeat this"
}

// slowAdvice is for a server that is only slow, where more time can be had.
func slowAdvice(err error) string {
	var silence *noAnswerError
	if !errors.As(err, &silence) || silence.limit == "" && silence.after >= longestVerbTimeout {
		return ""
	}
	return "; if server and network are well and this takes longer, raise StatementTimeout"
}

// unconnectedAdvice is what to do when there is no connection, and no word of the server why.
func unconnectedAdvice(err error) string {
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, mysql.ErrNoTLS):
		return "turn TLS on at the server, or leave tls out of the data source name"
	case errors.As(err, &certificate):
		return "connect by a host name that the certificate has, and name who signed it: mysql.RegisterTLSConfig(\"name\", …) and " +
			"tls=name in the data source name"
	case errors.Is(err, errUnknownNetwork):
		return "use tcp(host:port) or unix(/path/to/socket); other networks take mysql.RegisterDialContext"
	case errors.Is(err, mysql.ErrCleartextPassword), errors.Is(err, mysql.ErrNativePassword), errors.Is(err, mysql.ErrOldPassword):
		return "" // the driver says it
	case errors.Is(err, mysql.ErrUnknownPlugin):
		return "give this user a plugin that the driver knows: ALTER USER … IDENTIFIED WITH caching_sha2_password BY …, in MariaDB " +
			"IDENTIFIED VIA mysql_native_password USING PASSWORD(…)"
	case errors.Is(err, ErrSessionLost):
		return "check that the server runs and is reachable at this address, and that MySQL or MariaDB is what listens there: " +
			"the port of a web server, or of MySQL's X protocol, 33060, is not the right one"
	}
	return ""
}

// connectAdvice is for what goes wrong while a session is opened.
var connectAdvice = map[uint16]string{
	errTooManyConnections: "the server's max_connections is used up: raise it, or use fewer sessions",
	errUserConnections:    "this user's max_user_connections is used up: raise it, or use fewer sessions",
	errUserLimit:          "a limit of this user is used up: raise it (ALTER USER … WITH …), or use fewer sessions",
	errDatabaseDenied:     "grant this user its rights on the database, or name another database in the DSN",
	errAccessDenied: "check user and password of the DSN, from which hosts the server lets this user in, and whether it has to " +
		"come with TLS (tls=true)",
	errPasswordExpired: "give this user a new password, and put that into the DSN",
	errAccountLocked:   "unlock this user (ALTER USER … ACCOUNT UNLOCK), or use another",
	errAccountIsLocked: "unlock this user (ALTER USER … ACCOUNT UNLOCK), or use another",
	errSecureTransport: "the server takes connections with TLS only: add tls=true to the DSN, or tls=skip-verify for a " +
		"certificate that nobody checks",
	errNoDatabase: "create this database, or correct its name in the DSN",
	errHostBlocked: "connections from this host broke off too often: find what does that (a health check of the port?), then " +
		"FLUSH HOSTS, in MySQL TRUNCATE TABLE performance_schema.host_cache, or raise max_connect_errors",
	errHostDenied:      "the server does not let this host in: create the user for this host",
	errUnknownTimeZone: "use an offset such as +00:00, or load the server's time zone tables",
	errNeedsPrivilege:  "grant this user the privilege that the server names",
}
