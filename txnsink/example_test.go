package txnsink_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/internal/servertest"
	"github.com/xasink/xasink/state"
	"github.com/xasink/xasink/txnsink"
)

// The lines between the markers are those of the README.

// README begin
func copyOrders(ctx context.Context, job, dsn, stateFile string, source *orderSource) error {
	store, err := state.OpenFile(stateFile, job, state.FileOptions{})
	if err != nil {
		return err
	}
	defer store.Close()
	sink, err := txnsink.Open(ctx, txnsink.Config{Job: job, DSN: dsn, Store: store, Start: source.Start,
		Tables: []txnsink.Table{{Name: "orders", Operations: txnsink.Upsert}}})
	if err != nil {
		return err // says what is wrong and the ways on; nothing was lost
	}
	defer sink.Close() // commits nothing: what is prepared waits for the next Open
	for source.Seek(sink.Position()); source.Next(); {
		b := sink.Batch()
		for _, o := range source.Orders() {
			b.Upsert("orders").Int64(o.ID).String(o.Name).Decimal(o.Amount)
		}
		if err := sink.Write(ctx, b, source.Position()); err != nil {
			return err // start again with Open: it resumes where the last checkpoint ended
		}
	}
	return sink.Finish(context.WithoutCancel(ctx)) // nil: every row is in the table, once
}

// README end

type order struct {
	ID           int64
	Name, Amount string
}

// orderSource gives a thousand orders, ten at a time; its position is the number of the next one.
type orderSource struct{ next, end int64 }

func (s *orderSource) Start(context.Context) ([]byte, error) { return []byte("1"), nil }

func (s *orderSource) Seek(position []byte) { s.end, _ = strconv.ParseInt(string(position), 10, 64) }

func (s *orderSource) Next() bool {
	s.next = s.end
	s.end = min(s.next+10, 1001)
	return s.next < s.end
}

func (s *orderSource) Orders() []order {
	var list []order
	for id := s.next; id < s.end; id++ {
		list = append(list, order{ID: id, Name: "order " + strconv.FormatInt(id, 10), Amount: strconv.FormatInt(id, 10) + ".50"})
	}
	return list
}

func (s *orderSource) Position() []byte { return strconv.AppendInt(nil, s.end, 10) }

func Example() {
	ctx := context.Background()
	err := copyOrders(ctx, "orders", "user:password@tcp(127.0.0.1:3306)/shop", "orders.state", &orderSource{})
	var lost *txnsink.LostError
	switch {
	case errors.Is(err, txnsink.ErrFenced): // another process has the job: end
	case errors.As(err, &lost): // the server forgot prepared rows: the error is the report
	}
}

func TestTheExampleOfTheReadmeRuns(t *testing.T) {
	servertest.Each(t, func(t *testing.T, server servertest.Server) {
		database := server.Database(t)
		job := server.Job(t)
		db := server.DB(t)
		servertest.Exec(t, db, "CREATE TABLE `"+database+"`.orders (id BIGINT PRIMARY KEY, name VARCHAR(40) NOT NULL, amount DECIMAL(12,2) NOT NULL)")
		t.Cleanup(func() {
			servertest.Exec(t, db, "DELETE FROM xasink.jobs WHERE job = ?", job)
			servertest.Exec(t, db, "DELETE FROM xasink.branches WHERE job = ?", job)
		})
		file := filepath.Join(t.TempDir(), "orders.state")
		require.NoError(t, copyOrders(t.Context(), job, server.DSN(database), file, &orderSource{}))
		require.Equal(t, int64(1000), servertest.Int(t, db, "SELECT COUNT(*) FROM `"+database+"`.orders"))
		require.Equal(t, int64(501000), servertest.Int(t, db, "SELECT CAST(SUM(amount) AS SIGNED) FROM `"+database+"`.orders"))
	})
}

func TestTheReadmeShowsTheExample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(source), "// README begin\n")
	require.True(t, ok)
	lines, _, ok := strings.Cut(rest, "\n// README end")
	require.True(t, ok)
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(readme), strings.TrimSpace(lines))
}
