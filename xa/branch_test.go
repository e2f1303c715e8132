package xa_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/fault"
	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/xa"
)

func TestF24_PreparedHereCommittedThere(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		a, b := take(t, p), take(t, p)
		id := r.prepare(t, a, 1)
		require.NoError(t, p.Discard(t.Context(), a))
		if !r.server.Abilities().Detached {
			awaitDetach(t)
		}
		require.NoError(t, b.Commit(t.Context(), id.XID()))
		require.EqualValues(t, 1, r.rows(t))
		require.Empty(t, real.Prepared(t, r.job))
	})
}

// awaitDetach is the design's detach wait: a session that was just ended may still hold its branch for a moment, and
// nothing on the server tells when that is over.
func awaitDetach(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

func TestF29_PreparedAndRolledBack(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		s := take(t, r.pool(t))
		id := r.prepare(t, s, 1)
		require.NoError(t, s.Rollback(t.Context(), id.XID()))
		require.Equal(t, xa.None, s.State())
		require.Zero(t, r.rows(t))
		require.Empty(t, real.Prepared(t, r.job))
		// The same session takes another branch, with the same row.
		id = r.prepare(t, s, 1)
		require.NoError(t, s.Commit(t.Context(), id.XID()))
		require.EqualValues(t, 1, r.rows(t))
	})
}

func TestF28_AbortedAtEveryStage(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		s := take(t, r.pool(t))
		ctx := t.Context()
		for _, stage := range []xa.State{xa.Active, xa.Ended, xa.Poisoned} {
			require.NoError(t, s.Start(ctx, r.id()))
			_, err := s.Exec(ctx, r.insert(1))
			require.NoError(t, err)
			if stage == xa.Ended {
				require.NoError(t, s.End(ctx))
			}
			if stage == xa.Poisoned {
				_, err := s.Exec(ctx, r.insert(1))
				require.ErrorContains(t, err, "1062")
			}
			require.Equal(t, stage, s.State())
			require.NoError(t, s.Abort(ctx))
			require.Zero(t, r.rows(t))
		}
		// G057: after a rollback the same connection runs a new branch, which is committed.
		id := r.prepare(t, s, 1)
		require.NoError(t, s.Commit(ctx, id.XID()))
		require.EqualValues(t, 1, r.rows(t))
	})
}

func TestF31_ScanFindsExactlyWhatIsPrepared(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s := take(t, p)
		id := r.prepare(t, s, 1)
		require.NoError(t, p.Discard(t.Context(), s))
		found, err := r.server.Scan(t.Context(), r.server.DB())
		require.NoError(t, err)
		require.Contains(t, found, id.XID())
		other := take(t, p)
		again, err := r.server.Scan(t.Context(), other)
		require.NoError(t, err)
		require.Contains(t, again, id.XID())
		if !r.server.Abilities().Detached {
			awaitDetach(t)
		}
		require.NoError(t, other.Rollback(t.Context(), id.XID()))
		require.Empty(t, real.Prepared(t, r.job))
	})
}

// TestG099_ForeignNamesAreReadByteForByte: parts are split by their lengths, and go back to the server as they came.
func TestG099_ForeignNamesAreReadByteForByte(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		tag := r.job[len(r.job)-10:]
		names := []xa.XID{
			{Format: 1, GTRID: tag + "'\"\\`;\x00\xff\x80\xe4", BQUAL: "\x00\xff'"},
			{Format: 9752, GTRID: tag, BQUAL: "bc"},
			{Format: 9752, GTRID: tag + "b", BQUAL: "c"},
			{Format: 201, GTRID: tag + "empty", BQUAL: ""},
		}
		for i, x := range names {
			conn, err := r.admin.Conn(t.Context())
			require.NoError(t, err)
			for _, q := range []string{"XA START " + x.SQL(), r.insert(i), "XA END " + x.SQL(), "XA PREPARE " + x.SQL()} {
				_, err := conn.ExecContext(t.Context(), q)
				require.NoError(t, err)
			}
			// On an attached server only this very connection can let the branch go.
			t.Cleanup(func() {
				_, _ = conn.ExecContext(context.WithoutCancel(t.Context()), "XA ROLLBACK "+x.SQL())
				_ = conn.Close()
			})
		}
		s := take(t, p)
		found, err := r.server.Scan(t.Context(), s)
		require.NoError(t, err)
		for _, x := range names {
			require.Contains(t, found, x)
			_, ours := x.ID()
			require.False(t, ours)
		}
		if r.server.Abilities().Detached {
			for _, x := range names {
				require.NoError(t, s.Rollback(t.Context(), x))
			}
		}
	})
}

// TestL02_TheNextBranchOnASessionThatPrepared (G030, T21).
func TestL02_TheNextBranchOnASessionThatPrepared(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s := take(t, p)
		first := r.prepare(t, s, 1)
		if r.server.Abilities().Detached {
			second := r.prepare(t, s, 2)
			require.NoError(t, s.Commit(t.Context(), second.XID()))
			require.NoError(t, s.Commit(t.Context(), first.XID()))
			require.EqualValues(t, 2, r.rows(t))
			return
		}
		var refused *xa.StateError
		require.ErrorAs(t, s.Start(t.Context(), r.id()), &refused)
		require.Equal(t, xa.Prepared, refused.Have)
		other := take(t, p)
		second := r.prepare(t, other, 2)
		require.NoError(t, s.Commit(t.Context(), first.XID()))
		require.NoError(t, other.Commit(t.Context(), second.XID()))
		require.EqualValues(t, 2, r.rows(t))
	})
}

// TestL03_CommitElsewhereWhileTheOwnerLives (G063).
func TestL03_CommitElsewhereWhileTheOwnerLives(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		owner, other := take(t, p), take(t, p)
		id := r.prepare(t, owner, 1)
		err := other.Commit(t.Context(), id.XID())
		if r.server.Abilities().Detached {
			require.NoError(t, err)
			require.EqualValues(t, 1, r.rows(t))
			return
		}
		require.ErrorIs(t, err, xa.ErrUnknownID)
		require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
		require.Equal(t, []xa.ID{id}, real.Prepared(t, r.job), "unknown, and listed all the same")
		require.Equal(t, xa.None, other.State())
		require.NoError(t, owner.Commit(t.Context(), id.XID()))
		require.EqualValues(t, 1, r.rows(t))
	})
}

func TestT23_UnknownIsInDoubtHoweverItCameAbout(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s, other := take(t, p), take(t, p)
		ctx := t.Context()
		doubtful := func(id xa.ID) {
			t.Helper()
			for _, err := range []error{other.Commit(ctx, id.XID()), other.Rollback(ctx, id.XID())} {
				require.ErrorIs(t, err, xa.ErrUnknownID)
				require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
				require.Equal(t, xa.None, other.State())
			}
		}
		id := r.prepare(t, s, 1)
		require.NoError(t, s.Commit(ctx, id.XID()))
		doubtful(id) // committed
		id = r.id()
		require.NoError(t, s.Start(ctx, id))
		_, err := s.Exec(ctx, r.insert(2))
		require.NoError(t, err)
		doubtful(id) // active elsewhere
		require.NoError(t, s.End(ctx))
		doubtful(id) // idle elsewhere
		require.NoError(t, s.Abort(ctx))
		doubtful(id) // rolled back
		doubtful(r.id())
	})
}

// TestL08_NamesAndStates: wrong names, wrong states and wrong format ids, as the server sees them.
func TestL08_NamesAndStates(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s, other := take(t, p), take(t, p)
		id := r.prepare(t, s, 1)
		// A name is never used twice.
		err := other.Start(t.Context(), id)
		require.ErrorIs(t, err, xa.ErrDuplicateID)
		require.Equal(t, xa.Refused, xa.OutcomeOf(err))
		require.ErrorContains(t, err, "second process")
		require.Equal(t, xa.Broken, other.State(), "G093")
		require.NoError(t, p.Discard(t.Context(), other))
		// Another qualifier is another branch.
		other = take(t, p)
		wrong := id
		wrong.Seq += 1000
		require.ErrorIs(t, other.Commit(t.Context(), wrong.XID()), xa.ErrUnknownID)
		require.NoError(t, s.Commit(t.Context(), id.XID()))
		require.EqualValues(t, 1, r.rows(t))
	})
}

// TestL09_FormatIdsTheServerRefuses: refused as syntax, and the careful verdict is taken.
func TestL09_FormatIdsTheServerRefuses(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s := take(t, p)
		err := s.Rollback(t.Context(), xa.XID{Format: 1 << 32, GTRID: r.job, BQUAL: "b"})
		require.Equal(t, xa.InDoubt, xa.OutcomeOf(err))
		if real.Flavour == xa.MariaDB {
			require.ErrorContains(t, err, "1064")
			require.Equal(t, xa.Broken, s.State())
			return
		}
		require.ErrorIs(t, err, xa.ErrUnknownID)
	})
}

// TestL10_VerbsAreTextWithLiterals: an XID cannot be bound, on either server.
func TestL10_VerbsAreTextWithLiterals(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		_, err := r.admin.ExecContext(t.Context(), "XA START ?", "x")
		require.Error(t, err)
		require.Regexp(t, "1064|1295", err.Error())
	})
}

// TestAutocommitTrap: after a refused START the session would commit every statement at once (G046, facts 0.5).
func TestAutocommitTrap(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		p := r.pool(t)
		s, other := take(t, p), take(t, p)
		id := r.id()
		require.NoError(t, s.Start(t.Context(), id))
		require.ErrorIs(t, other.Start(t.Context(), id), xa.ErrDuplicateID)
		_, err := other.Exec(t.Context(), r.insert(1))
		var refused *xa.StateError
		require.ErrorAs(t, err, &refused)
		_, err = other.ExecContext(t.Context(), r.insert(1))
		require.ErrorAs(t, err, &refused)
		require.Zero(t, r.rows(t), "the row was committed outside of any branch")
		require.NoError(t, s.Abort(t.Context()))
	})
}

// TestT18_NothingOutsideOfABranchCommitsInIt (S05, T62): plain statements are refused while a branch is open.
func TestT18_NothingOutsideOfABranchCommitsInIt(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		s := take(t, r.pool(t))
		ctx := t.Context()
		require.NoError(t, s.Start(ctx, r.id()))
		_, err := s.Exec(ctx, r.insert(1))
		require.NoError(t, err)
		var refused *xa.StateError
		_, err = s.ExecContext(ctx, "COMMIT")
		require.ErrorAs(t, err, &refused)
		_, err = s.Exec(ctx, "COMMIT")
		require.ErrorContains(t, err, "1399")
		require.Equal(t, xa.Poisoned, s.State())
		require.NoError(t, s.Abort(ctx))
		require.Zero(t, r.rows(t))
	})
}

// TestT59_AFailedStatementNeverReachesPrepare: the server would prepare the branch without it.
func TestT59_AFailedStatementNeverReachesPrepare(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		r := newRig(t, real)
		s := take(t, r.pool(t))
		ctx := t.Context()
		for _, bad := range []string{
			r.insert(1),
			"INSERT INTO " + r.table() + " VALUES (2, 'longer than ten')",
			"INSERT INTO " + r.table() + " VALUES ('abc', 'v')",
			"INSERT INTO `" + r.db + "`.`nowhere` VALUES (1)",
			"UPDATE " + r.table() + " SET id = 1/0",
			"nonsense",
		} {
			require.NoError(t, s.Start(ctx, r.id()))
			_, err := s.Exec(ctx, r.insert(1))
			require.NoError(t, err)
			_, err = s.Exec(ctx, bad)
			require.Error(t, err, "%s", bad)
			require.Equal(t, xa.Poisoned, s.State())
			var refused *xa.StateError
			require.ErrorAs(t, s.End(ctx), &refused)
			_, err = s.Exec(ctx, r.insert(3))
			require.ErrorAs(t, err, &refused)
			require.NoError(t, s.Abort(ctx))
		}
		require.Zero(t, r.rows(t))
	})
}

// TestFaultsOnARealServer: what a fault left on the server is what its point says.
func TestFaultsOnARealServer(t *testing.T) {
	servertest.Each(t, func(t *testing.T, real servertest.Server) {
		in := &armed{}
		r := newRig(t, real, func(c *xa.Config) { c.Faults = in })
		p := r.pool(t)
		ctx := t.Context()
		try := func(p fault.Point, do func() error) {
			t.Helper()
			in.Injector = fault.FailAt(p, 1, nil)
			err := do()
			in.Injector = nil
			require.Equal(t, xa.InDoubt, xa.OutcomeOf(err), "%s", p)
		}
		s := take(t, p)
		require.NoError(t, s.Start(ctx, r.id()))
		_, err := s.Exec(ctx, r.insert(1))
		require.NoError(t, err)
		require.NoError(t, s.End(ctx))
		try(fault.Before(fault.Prepare), func() error { return s.Prepare(ctx) })
		require.Equal(t, xa.Broken, s.State())
		require.NoError(t, p.Discard(ctx, s))
		require.Empty(t, real.Prepared(t, r.job))

		s = take(t, p)
		id := r.id()
		require.NoError(t, s.Start(ctx, id))
		_, err = s.Exec(ctx, r.insert(1))
		require.NoError(t, err)
		require.NoError(t, s.End(ctx))
		try(fault.After(fault.Prepare), func() error { return s.Prepare(ctx) })
		require.NoError(t, p.Discard(ctx, s))
		require.Equal(t, []xa.ID{id}, real.Prepared(t, r.job))
		if !r.server.Abilities().Detached {
			awaitDetach(t)
		}

		s = take(t, p)
		try(fault.Before(fault.Commit), func() error { return s.Commit(ctx, id.XID()) })
		require.NoError(t, p.Discard(ctx, s))
		require.Equal(t, []xa.ID{id}, real.Prepared(t, r.job))
		s = take(t, p)
		try(fault.After(fault.Commit), func() error { return s.Commit(ctx, id.XID()) })
		require.NoError(t, p.Discard(ctx, s))
		require.Empty(t, real.Prepared(t, r.job))
		require.EqualValues(t, 1, r.rows(t))
	})
}
