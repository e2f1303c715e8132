package writertest

import (
	"github.com/stretchr/testify/require"

	"github.com/xasink/xasink/txnsink"
)

var ownerStories = []entry{
	{"an older owner writes nothing any more", 0, olderOwnerIsFenced},
	{"an older owner's open rows are gone, and their locks free", exactlyOnce, olderOwnersRowsAreGone},
	{"an owner that was overtaken does not recover", 0, overtakenDoesNotRecover},
}

func olderOwnerIsFenced(s *story) {
	old := s.begin()
	old.write(order(1, "old"))
	l := s.begin()
	l.write(order(2, "new"))
	l.checkpoint()
	_, err := old.Prepare(s.Context())
	require.Error(s, err, "its sessions are not its own any more")
	s.sees(nil, map[int64]string{2: "new"}, "nothing of the older owner")
	require.Empty(s, s.prepared())
	require.NoError(s, old.Close())
	l.write(order(1, "new"))
	l.checkpoint()
	s.sees(nil, map[int64]string{1: "new", 2: "new"}, "the new owner goes on")
}

func olderOwnersRowsAreGone(s *story) {
	old := s.begin()
	old.write(order(1, "old"))
	l := s.begin()
	l.write(order(1, "new"))
	l.checkpoint()
	s.sees(nil, map[int64]string{1: "new"}, "the row was free")
}

func overtakenDoesNotRecover(s *story) {
	slow := s.writer()
	floor, err := s.look(slow)
	require.NoError(s, err)
	_, owner := s.claim(floor)
	l := s.begin()
	_, err = slow.Recover(s.Context(), owner, nil)
	require.ErrorIs(s, err, txnsink.ErrFenced)
	l.write(event(1))
	l.checkpoint()
	s.sees([]int64{1}, nil, "the newer owner goes on")
}
