// Package state keeps decisions: the persisted checkpoints that say which prepared branches are to be committed and
// where the sources go on. A [Store] holds them under a [Claim], which is the only right to write them.
//
// A store is the truth at recovery. What it cannot read it reports; it never starts empty and never answers with an
// older decision instead.
package state
