package xasim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// script is what both servers are asked, one statement a line.
const script = `
CREATE TABLE p (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20) NOT NULL, n INT NOT NULL DEFAULT 7, amount DECIMAL(12,2) NULL, UNIQUE KEY by_name (name), KEY by_n (n))
INSERT INTO p (name) VALUES ('a'), ('b'), ('c')
INSERT INTO p (name, n, amount) VALUES ('d', 1, 1.005), ('e', DEFAULT, NULL)
INSERT INTO p (id, name) VALUES (100, 'x')
INSERT INTO p (name) VALUES ('y')
INSERT INTO p VALUES (NULL, 'z', 3, 4)
SELECT * FROM p ORDER BY id
INSERT INTO p (name) VALUES ('A')
INSERT INTO p (name) VALUES ('new'), ('a')
SELECT COUNT(*) FROM p
INSERT INTO p (name, n) VALUES ('a', 5) ON DUPLICATE KEY UPDATE n = n + VALUES(n)
INSERT INTO p (name, n) VALUES ('a', 5), ('q', 9), ('a', 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n), amount = COALESCE(amount, 0) + 0.5
INSERT INTO p (id, name, n) VALUES (100, 'x', 7) ON DUPLICATE KEY UPDATE n = VALUES(n)
SELECT id, name, n, amount FROM p WHERE name IN ('a', 'q', 'x') ORDER BY name
REPLACE INTO p (id, name, n) VALUES (100, 'a', 8)
SELECT id, name, n FROM p ORDER BY name
UPDATE p SET n = n + 1
UPDATE p SET n = n + 1 WHERE n > 8
UPDATE p SET n = n WHERE n > 8
UPDATE p SET name = 'b' WHERE name = 'c'
UPDATE p SET id = 200 WHERE id = 2
UPDATE p SET id = 200 WHERE id = 3
UPDATE p SET n = 99999999999 WHERE id = 200
UPDATE p SET n = NULL WHERE id = 200
UPDATE p SET nothing = 1
DELETE FROM p WHERE name = 'nobody'
DELETE FROM p WHERE id IN (200, 3, 12345)
DELETE FROM p WHERE id > 3 AND id < 6
SELECT id, name FROM p ORDER BY id DESC
SELECT name, n FROM p ORDER BY n, name LIMIT 3
SELECT name, n FROM p ORDER BY 2 DESC, 1 LIMIT 2, 2
SELECT COUNT(*), SUM(n), MIN(n), MAX(name), COUNT(amount), SUM(amount) FROM p
SELECT COUNT(*), SUM(n), MIN(n), MAX(name) FROM p WHERE n < 0
SELECT n, COUNT(*) AS c FROM p GROUP BY n ORDER BY n
SELECT id, name AS called FROM p WHERE name LIKE '%a%' OR n BETWEEN 2 AND 4 ORDER BY called
SELECT id FROM p WHERE amount IS NULL AND NOT (n = 8) ORDER BY id
SELECT id FROM p WHERE amount <=> NULL ORDER BY id
SELECT DISTINCT n FROM p ORDER BY n
SELECT l.id, r.id FROM p l JOIN p r ON r.id = l.id + 1 ORDER BY l.id
SELECT l.id, r.id FROM p l LEFT JOIN p r ON r.id = l.id + 1 ORDER BY l.id
SELECT COUNT(*) FROM (SELECT id FROM p WHERE n > 1 LIMIT 3) AS t
SELECT nothing FROM p
SELECT id FROM p WHERE nothing = 1
SELECT id FROM nowhere
SELECT COUNT(*) + 1, -SUM(n) FROM p
SELECT 1 + 1, 7 / 2, 7 % 3, 1.50 + 2.25, 2.5 * 2, 1 / 0, 3 - 5, 10 / 3
SELECT 1 = 1, 1 <> 1, 'a' = 'A', 'a' < 'b', 2 > 10, '2' > '10', NULL = NULL, NULL <=> NULL, 1 AND 0, 1 OR 0, NOT 1, 1 XOR 1
SELECT GREATEST(1, 5, 3), LEAST(2, 1), COALESCE(NULL, 'x'), IFNULL(NULL, 2), IF(1 > 0, 'y', 'n'), ABS(-3), CONCAT('a', 1, 'b'), HEX('ab'), HEX(255), LOWER('Ab'), UPPER('Ab'), LENGTH('äb')
SELECT GREATEST(1, NULL), CONCAT('a', NULL), LENGTH(NULL)
SELECT CAST(12 AS CHAR), CAST('12abc' AS SIGNED), CAST(1.6 AS SIGNED), CAST('7' AS UNSIGNED)
SELECT DATE_FORMAT('2024-02-03 04:05:06.789', '%Y-%m-%d %H:%i:%s.%f'), UNIX_TIMESTAMP('2024-02-03 04:05:06')
SELECT 5 IN (1, 5), 5 IN (1, 2), 5 IN (1, NULL), NULL IN (1), 5 NOT IN (1, 2), 3 BETWEEN 1 AND 5, 3 NOT BETWEEN 1 AND 2
SELECT 'it''s', "double", 'tab\tq', X'4142', 0x4142, _binary 'x' AS b, _utf8mb4 X'c3a4', TRUE, FALSE, NULL, 1e3, .5
SELECT @@autocommit, @@session.autocommit, @@innodb_rollback_on_timeout, @@foreign_key_checks
SELECT @@nothing
SET nothing = 1
SET innodb_rollback_on_timeout = 1
SET SESSION wait_timeout = 100, lock_wait_timeout = 7
SELECT @@wait_timeout, @@lock_wait_timeout
CREATE TABLE p (id INT)
CREATE TABLE IF NOT EXISTS p (id INT)
CREATE TABLE bad (id INT, id INT)
CREATE TABLE bad (id INT, KEY (nothing))
DROP TABLE nowhere
DROP TABLE IF EXISTS nowhere
CREATE TABLE s (k VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, t TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), d DATETIME(3), e ENUM('x','y') NOT NULL DEFAULT 'y', b BOOLEAN NOT NULL DEFAULT FALSE, PRIMARY KEY (k)) COMMENT='a comment'
INSERT INTO s (k, d) VALUES ('a', '2024-01-01 00:00:00.5'), ('A', NULL), ('a ', NULL)
SELECT k, d, e, b FROM s ORDER BY k
INSERT INTO s (k) VALUES ('a')
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, CHARACTER_SET_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, ORDINAL_POSITION
SELECT TABLE_NAME, NON_UNIQUE, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX
SELECT TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME
ALTER TABLE s ADD COLUMN extra INT NOT NULL DEFAULT 5, ADD COLUMN first_of_all VARCHAR(3) FIRST, ADD COLUMN second_of_all INT NOT NULL AFTER k
SELECT first_of_all, k, second_of_all, e, extra FROM s ORDER BY k
ALTER TABLE s ADD COLUMN extra INT
TRUNCATE TABLE p
INSERT INTO p (name) VALUES ('again')
SELECT id, name, n FROM p
BEGIN
INSERT INTO p (name) VALUES ('one')
SAVEPOINT a
INSERT INTO p (name) VALUES ('two')
SAVEPOINT b
INSERT INTO p (name) VALUES ('three')
ROLLBACK TO SAVEPOINT b
INSERT INTO p (name) VALUES ('four')
SELECT name FROM p ORDER BY name
ROLLBACK TO a
ROLLBACK TO b
SELECT name FROM p ORDER BY name
RELEASE SAVEPOINT a
ROLLBACK TO a
COMMIT
SELECT name FROM p ORDER BY name
INSERT IGNORE INTO p (name) VALUES ('one'), ('five')
SELECT name FROM p ORDER BY name
INSERT INTO p (name, n) SELECT CONCAT(name, '2'), n + 1 FROM p WHERE n = 7
SELECT name, n FROM p ORDER BY name
INSERT INTO p (name) SELECT name FROM p WHERE FALSE
UPDATE p SET n = n WHERE FALSE
DELETE FROM p WHERE FALSE
DELETE p FROM p FORCE INDEX (PRIMARY) WHERE name = 'one'
CREATE TABLE c (a INT, b VARCHAR(5), n INT NOT NULL, PRIMARY KEY (a, b))
INSERT INTO c VALUES (1, 'x', 1), (1, 'y', 2), (2, 'x', 3), (2, 'Y', 4)
INSERT INTO c VALUES (1, 'X', 1)
DELETE FROM c WHERE (a = 1 AND b = 'x') OR (a = 2 AND b = 'y')
SELECT * FROM c ORDER BY a, b
SELECT a, b FROM c WHERE a = 1 AND b >= 'y'
INSERT INTO c VALUES (1, 'y', 10) ON DUPLICATE KEY UPDATE n = n + VALUES(n), b = VALUES(b)
SELECT * FROM c ORDER BY a, b
INSERT INTO c (a, b) VALUES (9, 'q')
INSERT INTO c (a, b, n) VALUES (9, 'q', NULL)
INSERT INTO c (a, b, n) VALUES (9, 'too long', 1)
INSERT INTO c VALUES (9, 'q', 1), (9, 'r', 'x')
INSERT INTO c (a, a) VALUES (1, 1)
INSERT INTO c (nothing) VALUES (1)
INSERT INTO c (a, b, n) VALUES (1, 'y', 1) ON DUPLICATE KEY UPDATE nothing = 1
INSERT INTO c (a, b, n) VALUES (1, 'y', 1) ON DUPLICATE KEY UPDATE n = nothing
UPDATE c SET n = nothing
UPDATE c SET n = 1 WHERE nothing = 1
DELETE FROM c WHERE nothing = 1
SELECT a FROM c ORDER BY nothing
SELECT COUNT(*) FROM c GROUP BY nothing
SELECT l.a FROM c l JOIN c r ON l.a = r.nothing
SELECT x.a FROM c
SELECT a FROM c l JOIN c r ON l.a = r.a
SELECT COUNT(*) FROM c WHERE COUNT(*) = 1
CREATE TABLE a1 (id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE)
INSERT INTO a1 (u) VALUES (1), (2), (1)
INSERT INTO a1 (u) VALUES (3), (4)
INSERT IGNORE INTO a1 (u) VALUES (3), (5), (4), (6)
INSERT INTO a1 (u) VALUES (7)
INSERT INTO a1 VALUES (50, 8), (NULL, 9), (NULL, 10)
INSERT INTO a1 (u) SELECT u + 100 FROM a1 WHERE u > 6 ORDER BY u
INSERT INTO a1 (u) VALUES (11)
SELECT * FROM a1 ORDER BY id
SELECT LAST_INSERT_ID()
DROP TABLE a1
DROP TABLE p, c, s
`

// Every statement of a long script is answered as on a real server, with the same rows and the same errors.
func TestStatementsAreAnsweredAsOnRealServers(t *testing.T) {
	eachPair(t, func(t *testing.T, p *pair) {
		for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
			p.both(t, line)
		}
		p.agree(t)
	})
}

// Random rows in and out of branches leave the same tables behind, statement by statement.
func TestRandomRowsInBranchesAreAsOnRealServers(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	eachPair(t, func(t *testing.T, p *pair) {
		r := rand.New(rand.NewPCG(seed, 1))
		p.both(t, "CREATE TABLE w (id INT PRIMARY KEY, u INT, v VARCHAR(10) NOT NULL, n DECIMAL(20,2) NOT NULL DEFAULT 0, UNIQUE KEY (u))")
		branch := fmt.Sprintf("X'%x',X'%x',2147483647", fmt.Sprintf("%-64s", p.database), fmt.Sprintf("%-64s", "random"))
		for range 25 {
			p.both(t, "XA START "+branch)
			for range 1 + r.IntN(8) {
				p.both(t, statement(r))
			}
			p.both(t, "SELECT * FROM w ORDER BY id")
			p.both(t, "XA END "+branch)
			if r.IntN(4) == 0 {
				p.both(t, "XA ROLLBACK "+branch)
				continue
			}
			p.both(t, "XA PREPARE "+branch)
			p.both(t, []string{"XA COMMIT ", "XA COMMIT ", "XA ROLLBACK "}[r.IntN(3)]+branch)
		}
		p.both(t, "SELECT * FROM w ORDER BY id")
		p.agree(t)
	})
}

// statement is a random one on table w.
func statement(r *rand.Rand) string {
	id, u := r.IntN(12), fmt.Sprint(r.IntN(6))
	if r.IntN(3) == 0 {
		u = "NULL"
	}
	values := func() string {
		return fmt.Sprintf("(%d, %s, '%c', %d.%02d)", id, u, 'a'+r.IntN(3), r.IntN(100), r.IntN(100))
	}
	switch r.IntN(10) {
	case 0, 1, 2:
		rows := values()
		for range r.IntN(3) {
			id, u = r.IntN(12), fmt.Sprint(r.IntN(12))
			rows += ", " + values()
		}
		return "INSERT INTO w VALUES " + rows
	case 3, 4:
		return "INSERT INTO w VALUES " + values() + " ON DUPLICATE KEY UPDATE v = VALUES(v), n = n + VALUES(n)"
	case 5:
		return "REPLACE INTO w VALUES " + values()
	case 6:
		return fmt.Sprintf("UPDATE w SET u = %s, n = n * 2 WHERE id = %d", u, id)
	case 7:
		return fmt.Sprintf("UPDATE w SET id = id + 1, v = 'm' WHERE id = %d", id)
	case 8:
		return fmt.Sprintf("DELETE FROM w WHERE id IN (%d, %d)", id, r.IntN(12))
	default:
		return fmt.Sprintf("UPDATE w SET v = 'u' WHERE u = %d", r.IntN(6))
	}
}
