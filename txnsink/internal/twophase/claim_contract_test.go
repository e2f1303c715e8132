package twophase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/xa"
)

// What is prepared between a decision and its commit belongs to the next one.
func TestABranchThatTheDecisionDoesNotListIsNotCommittedByIt(t *testing.T) {
	c := claimed()
	own := decision(c, 8)
	_, _, err := c.Decided(own)
	require.NoError(t, err)
	c.Whole()
	c.Prepared(id(2, 1), 5)
	d := decision(c, 9)
	c.Prepared(id(2, 2), 5)
	commit, again, err := c.Decided(d)
	require.NoError(t, err)
	require.False(t, again)
	require.Equal(t, []xa.ID{id(2, 1)}, ids(commit))
	require.Equal(t, []xa.ID{id(2, 1), id(2, 2)}, ids(c.Pending()))
}
