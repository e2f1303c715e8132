// Package state keeps decisions: the persisted checkpoints that say which prepared branches are to be committed and
// where the sources go on. A [Store] holds them under a [Claim], which is the only right to write them.
//
// A store is the truth at recovery. What it cannot read it reports; it never starts empty and never answers with an
// older decision instead.
//
// Duties of the caller, in order:
//
//  1. Open a store: [OpenFile] for one job in one file, or any other that passes statetest. [Store].Peek looks and
//     claims nothing.
//  2. Claim the job, and only then believe what is read: Claim.Last and Claim.History are final, for no older claim
//     can write any more.
//  3. Make each decision with [Next] and give it to Claim.Commit. Nil means that it is on disk. [ErrInDoubt] means that
//     the only thing to do is the identical Commit, until it is accepted or refused; until then none of its branches is
//     committed or rolled back. [ErrFenced] means that the job has a newer owner: stop, and leave every branch alone.
//
// [Encode] and [Decode] fix the stored form, for stores of other kinds as well: a decision is small and stands for
// itself.
package state
