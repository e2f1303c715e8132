package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xasink/xasink/e2e/servers"
	"github.com/xasink/xasink/xa/xasim/conformance"
)

// Undone is what another session's statement was answered while a branch holds the locks of a statement that was undone.
type Undone struct {
	Undone string // what was undone, and what came after it
	Probe  string
	Answer map[string]string // by kind of server
}

// undoneBy are the scripts of the conformance table that undo a statement of an open branch.
var undoneBy = []string{"blocked-insert", "blocked-update", "duplicate", "savepoint-undone"}

// MeasureUndone plays those lines of the conformance table that are about locks of undone statements.
func MeasureUndone(ctx context.Context, labs map[servers.Flavour]*Lab) ([]Undone, error) {
	table, err := conformance.Load()
	if err != nil {
		return nil, err
	}
	var list []Undone
	for _, c := range table.Cases {
		about := slices.ContainsFunc(c.Conditions, func(s string) bool { return slices.Contains(undoneBy, s) })
		if !about || c.Do.Who != "b" || strings.HasPrefix(c.Do.Do, "XA ") {
			continue
		}
		u := Undone{Undone: strings.Join(c.Conditions, ", "), Probe: c.Do.Do, Answer: map[string]string{}}
		for _, kind := range conformance.Kinds {
			lab := labs[servers.MySQL]
			if kind == "mariadb" {
				lab = labs[servers.MariaDB]
			}
			got, err := table.Run(ctx, conformance.Target{Kind: kind, DB: lab.DB, Database: lab.Database, Settle: detachTime + 50*time.Millisecond}, c)
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", c.Name(), kind, err)
			}
			u.Answer[kind], _, _ = strings.Cut(got, " ; ")
		}
		list = append(list, u)
	}
	return list, nil
}
