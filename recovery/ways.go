package recovery

import (
	"fmt"
)

// The ways on that several stops share. They name Go calls of this package, and SQL to look or to act by hand.

func wayAdopt(job, when string) Way {
	return Way{
		What: when + ": take the job over, at a position that you state and with a fate for each prepared branch",
		Go: fmt.Sprintf("recovery.Adopt(ctx, recovery.AdoptRequest{Job: %q, Positions: …, Branches: map[xa.ID]recovery.Fate{…}, …})",
			job),
	}
}

func wayReset(job, when string) Way {
	return Way{
		What: when + ": take the job over and ask its first position anew; what is in the target already is written again",
		Go:   fmt.Sprintf("recovery.Reset(ctx, recovery.AdoptRequest{Job: %q, Branches: map[xa.ID]recovery.Fate{…}, …}, start)", job),
	}
}

func wayLook(job, database string) Way {
	if database == "" {
		return Way{What: "look first; this changes nothing", SQL: []string{"XA RECOVER"}}
	}
	return Way{
		What: "look first; this changes nothing",
		SQL: []string{
			"XA RECOVER",
			fmt.Sprintf("SELECT * FROM %s.`jobs` WHERE `job` = '%s'", quoted(database), job),
			fmt.Sprintf("SELECT * FROM %s.`branches` WHERE `job` = '%s' ORDER BY `lane`, `epoch`, `seq`", quoted(database), job),
		},
	}
}

func wayRestart() Way {
	return Way{
		What: "restart the server, then open the job: a restart lists such branches again, and recovery settles them",
		SQL:  []string{"SHUTDOWN"},
	}
}

// explain is reason and ways of a stop that a plan can find: StopFenced, StopTakenBack or StopStoreBehind.
func (p *planner) explain(s *Stop) (string, []Way) {
	n := len(s.Branches)
	switch {
	case s.Kind == StopFenced:
		return fmt.Sprintf("%s prepared under epoch %d or a later one, and %d is our claim: a newer owner works on this job",
				count(n, "branch is", "branches are"), p.epoch, p.epoch),
			[]Way{
				{What: "let the newer owner work; this process is done with the job"},
				wayLook(p.job, ""),
			}
	case s.Kind == StopTakenBack && p.missing && !p.again && len(p.proofs) == 0:
		return fmt.Sprintf("decision %d knows branches as committed (%s), and the server has no proof row of the job at all: the "+
				"ledger was emptied or dropped, or the server lost commits that it had acknowledged (a restored backup, a failover "+
				"to another server)", p.current.Number, count(n, "lane's newest is the reason", "lanes' newest are the reason")),
			[]Way{
				wayLook(p.job, ""),
				{What: "if the ledger's tables were emptied or dropped: put their rows back from a backup, then open the job"},
				{What: "if the right server is another one (a failover, a restored copy): bring that one back, then open the job"},
				wayAdopt(p.job, "if the rows are gone for good: find out up to which position the target's rows are whole"),
				wayReset(p.job, "if every table can be written again from the start"),
			}
	case s.Kind == StopTakenBack:
		return fmt.Sprintf("decision %d knows %s as committed and the server no longer does: it lost commits that it had "+
				"acknowledged (a crash without durable settings, a restored backup, a failover to a replica that was behind)",
				p.current.Number, count(n, "branch", "branches")),
			[]Way{
				wayLook(p.job, ""),
				{What: "if the right server is another one (a failover, a restored copy): bring that one back, then open the job"},
				wayAdopt(p.job, "if the server stays as it is: find out up to which position its rows are whole"),
				wayReset(p.job, "if every table can be written again from the start"),
			}
	default:
		return fmt.Sprintf("%s committed beyond what decision %d knows, and listed by no kept decision: the state store is older "+
				"than the database (an old copy of it was put back)", count(n, "branch is", "branches are"), p.current.Number),
			[]Way{
				{What: "put the newest copy of the state store back, then open the job"},
				wayLook(p.job, ""),
				wayAdopt(p.job, "if the newest copy is gone: find the position behind the last committed row"),
				wayReset(p.job, "if every table can be written again from the start"),
			}
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
