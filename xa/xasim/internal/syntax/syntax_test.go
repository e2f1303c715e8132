package syntax_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa/xasim/internal/datum"
	"github.com/xasink/xasink/xa/xasim/internal/syntax"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SELECT a.*, COUNT(*) FROM t a LEFT JOIN u ON a.id = u.id WHERE x IN (1, 'it''s', X'00') GROUP BY 1 ORDER BY 2 DESC LIMIT 1, 2 FOR UPDATE",
		"INSERT INTO `d`.`t` (a, b) VALUES (1, _binary'x'), (?, DEFAULT) ON DUPLICATE KEY UPDATE a = a + VALUES(a)",
		"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, e ENUM('a','b') NOT NULL DEFAULT 'a', KEY (e)) ENGINE=InnoDB COMMENT='x'",
		"XA START X'01','b',7 RESUME", "XA RECOVER CONVERT XID", "SET SESSION a = 1, @@global.b = ON", "/* c */ SELECT 1 -- end",
		"DELETE t FROM t FORCE INDEX (PRIMARY) WHERE a = 1 AND b BETWEEN -1 AND 2.5e3", "\"", "'\\", "`", "0x", "X'1'", "b'2'", "@@", "((((", "SELECT 1;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first, err := syntax.Parse(s)
		again, errAgain := syntax.Parse(s)
		require.Equal(t, first, again)
		require.Equal(t, err, errAgain)
		if err != nil {
			var e *syntax.Error
			require.ErrorAs(t, err, &e)
			require.NotEmpty(t, e.Error())
		}
	})
}

func TestLiterals(t *testing.T) {
	for text, want := range map[string]datum.Value{
		"1":                    datum.Int64(1),
		"-1":                   datum.Int64(-1),
		"18446744073709551615": datum.Uint64(18446744073709551615),
		"1.50":                 datum.Dec("1.50"),
		"1e2":                  datum.Float64(100),
		"-.5":                  datum.Dec("-0.5"),
		`'it''s \n \\ \% \q'`:  datum.String("it's \n \\ \\% q"),
		`"a" 'b'`:              datum.String("ab"),
		"X'4142'":              datum.Hex("AB"),
		"0x414":                datum.Hex("\x04\x14"),
		"b'101'":               datum.Hex("\x05"),
		"_binary'x'":           datum.Binary("x"),
		"_utf8mb4 X'c3a4'":     datum.String("ä"),
		"NULL":                 {},
		"TRUE":                 datum.Int64(1),
	} {
		s, err := syntax.Parse("SELECT " + text)
		require.NoError(t, err, "%s", text)
		q, ok := s.(*syntax.Select)
		require.True(t, ok)
		require.Equal(t, syntax.Literal{Value: want}, q.Fields[0].X, "%s", text)
	}
}

// What a real server may take and this one does not is told apart from what none takes.
func TestWhatIsNotKnownIsTold(t *testing.T) {
	for text, unsupported := range map[string]bool{
		"SELECT 1 UNION SELECT 2":       true,
		"SELECT (SELECT 1)":             true,
		"SELECT CASE WHEN 1 THEN 2 END": true,
		"SELECT @x":                     true,
		"INSERT INTO t SET a = 1":       true,
		"CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u(a))": true,
		"ALTER TABLE t DROP COLUMN a":                             true,
		"UPDATE t SET a = 1 LIMIT 1":                              true,
		"SELEC":                                                   false,
		"SELECT FROM":                                             false,
		"INSERT INTO":                                             false,
		"SELECT 1; SELECT 2":                                      false,
		"SELECT 'open":                                            false,
		"XA START ?":                                              false,
		"":                                                        false,
	} {
		_, err := syntax.Parse(text)
		var e *syntax.Error
		require.ErrorAs(t, err, &e, "%s", text)
		require.Equal(t, unsupported, e.Unsupported, "%s: %v", text, err)
	}
}
