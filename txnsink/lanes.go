package txnsink

// lanesOf deals tables to lanes: one lane a table, but tables that foreign keys or triggers tie, directly or through other
// tables, share one. Lanes, and the tables in them, are in the order of the configuration. It sets each table's lane.
func lanesOf(tables []*table) [][]*table {
	var lanes [][]*table
	laneOf := map[string]int{} // by every table that the lane's tables are tied to
	for _, t := range tables {
		lane, tied := laneOf[t.fullName()]
		if !tied {
			lane = len(lanes)
			lanes = append(lanes, nil)
		}
		t.lane = lane
		lanes[lane] = append(lanes[lane], t)
		for _, name := range t.references {
			laneOf[name] = lane
		}
	}
	return lanes
}

// edge is a foreign key, or a trigger on child that writes parent: the tables at both ends, as database.table.
type edge struct{ child, parent string }

// tiedTo are the tables that edges tie to name, directly or through others, in the order in which they are reached;
// name itself is not among them.
func tiedTo(name string, edges []edge) []string {
	neighbours := map[string][]string{}
	for _, e := range edges {
		neighbours[e.child] = append(neighbours[e.child], e.parent)
		neighbours[e.parent] = append(neighbours[e.parent], e.child)
	}
	seen := map[string]bool{name: true}
	reached := []string{name}
	for i := 0; i < len(reached); i++ {
		for _, n := range neighbours[reached[i]] {
			if !seen[n] {
				seen[n] = true
				reached = append(reached, n)
			}
		}
	}
	return reached[1:]
}
