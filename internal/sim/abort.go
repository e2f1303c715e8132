package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/xasink/xasink/txnsink"
)

// open opens a sink. With every above 0, of so many of its flush signals one is a checkpoint that is given up.
func open(ctx context.Context, cfg txnsink.Config, every int) (*txnsink.Sink, error) {
	if every == 0 {
		return txnsink.Open(ctx, cfg)
	}
	run, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	w, err := txnsink.NewWriter(ctx, cfg.WriterConfig(run))
	if err != nil {
		return nil, err
	}
	return txnsink.OpenWith(ctx, cfg, &givingUp{Writer: w, every: every})
}

// givingUp is a writer under a coordinator that gives checkpoints up: after Prepare, and before the decision's write.
// Rows are written behind it, and the next decision has to list what it prepared (rule 5).
type givingUp struct {
	txnsink.Writer
	every   int
	flushes int
}

// Flush is a flush signal, or a checkpoint that comes to nothing.
func (g *givingUp) Flush(ctx context.Context) error {
	if g.flushes++; g.flushes%g.every != 0 {
		return g.Writer.Flush(ctx)
	}
	part, err := g.Prepare(ctx)
	if err != nil {
		return fmt.Errorf("a checkpoint that is given up: %w", err)
	}
	if rows, branches := g.Held(); rows > 0 || branches > 0 && len(part.Pending) == 0 {
		return errors.New("a checkpoint that is given up has not prepared everything")
	}
	return nil
}
