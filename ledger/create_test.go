package ledger_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/ledger"
)

func TestCreateMakesWhatIsMissingAndMayBeRepeated(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		for range 2 {
			require.NoError(t, b.ledger.Create(t.Context(), b.db))
		}
		servertest.Exec(t, b.db, "DROP TABLE "+quoted(b.name)+".`branches`")
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		_, err := b.ledger.Proofs(t.Context(), b.db, "orders")
		require.NoError(t, err)
	})
}

func TestCreateByHandFromTheDDL(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		for _, ddl := range b.ledger.DDL() {
			servertest.Exec(t, b.db, ddl)
		}
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
	})
}

// A user without CREATE, with the tables there, needs no more than the GRANT that the messages name.
func TestCreateNeedsNoCreateRightWhenTheTablesAreThere(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		grant, _, _ := strings.Cut(strings.TrimPrefix(b.ledger.Grant("u@h"), "GRANT "), " TO ")
		user := b.user(t, grant)
		require.NoError(t, b.ledger.Create(t.Context(), user))
	})
}

func TestCreateWithoutTheRightTellsDDLAndGrant(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		refused := func(t *testing.T, err error) {
			t.Helper()
			require.ErrorIs(t, err, ledger.ErrPrivilege)
			require.ErrorContains(t, err, b.ledger.DDL()[0])
			require.ErrorContains(t, err, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+quoted(b.name)+".* TO 'u_")
			require.NotContains(t, err.Error(), "secret")
		}
		t.Run("no database", func(t *testing.T) {
			refused(t, b.ledger.Create(t.Context(), b.user(t)))
		})
		servertest.Exec(t, b.db, b.ledger.DDL()[0])
		t.Run("no tables", func(t *testing.T) {
			refused(t, b.ledger.Create(t.Context(), b.user(t, "SELECT, INSERT, UPDATE, DELETE ON "+quoted(b.name)+".*")))
		})
	})
}

// Each right that a sink needs later is missed at the opening, not in the middle of a branch.
func TestCreateMissesEachRight(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		in := " ON " + quoted(b.name)
		all := map[string]string{
			"insert job":   "INSERT" + in + ".`jobs`",
			"update job":   "UPDATE" + in + ".`jobs`",
			"insert proof": "INSERT" + in + ".`branches`",
			"delete proof": "DELETE" + in + ".`branches`",
			"read jobs":    "SELECT" + in + ".`jobs`",
			"read proofs":  "SELECT" + in + ".`branches`",
		}
		for missing := range all {
			t.Run(missing, func(t *testing.T) {
				var grants []string
				for name, grant := range all {
					if name != missing {
						grants = append(grants, grant)
					}
				}
				err := b.ledger.Create(t.Context(), b.user(t, grants...))
				require.ErrorIs(t, err, ledger.ErrPrivilege)
				require.ErrorContains(t, err, "GRANT SELECT, INSERT, UPDATE, DELETE")
				read := strings.HasPrefix(missing, "read")
				require.Equal(t, read, strings.Contains(err.Error(), "CREATE TABLE"), "who may not read cannot know that the tables are there")
			})
		}
	})
}

func TestCreateRefusesTablesThatAreNotItsOwn(t *testing.T) {
	onServers(t, func(t *testing.T, b *bench) {
		require.NoError(t, b.ledger.Create(t.Context(), b.db))
		table := quoted(b.name) + ".`branches`"
		servertest.Exec(t, b.db, "ALTER TABLE "+table+" COMMENT='xasink ledger, format 2'")
		err := b.ledger.Create(t.Context(), b.db)
		require.ErrorIs(t, err, ledger.ErrNewer)
		require.ErrorContains(t, err, "format 2")
		require.ErrorContains(t, err, "up to 1")

		for _, comment := range []string{"", "xasink ledger, format 0", "xasink ledger, format 1x", "my table"} {
			servertest.Exec(t, b.db, "ALTER TABLE "+table+" COMMENT='"+comment+"'")
			require.ErrorContains(t, b.ledger.Create(t.Context(), b.db), "not made by xasink's DDL")
		}
		servertest.Exec(t, b.db, "ALTER TABLE "+table+" COMMENT='xasink ledger, format 1', ENGINE=MyISAM")
		require.ErrorContains(t, b.ledger.Create(t.Context(), b.db), "must be InnoDB")
	})
}
