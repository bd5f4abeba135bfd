package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// undoDeadline is how long undoing one change may take. A driver that is given
// its NIC back resets it and waits for its firmware, some seconds.
const undoDeadline = 30 * time.Second

// Apply implements [Agent].
func (l *Local) Apply(ctx context.Context, c Change) (uint64, error) {
	k, ok := ofKind(c.Kind)
	if !ok {
		return 0, fmt.Errorf("a change of the kind %q can't be asked for", c.Kind)
	}
	// One at a time: what one finds as it was before must not be what another
	// is about to undo.
	l.applying.Lock()
	defer l.applying.Unlock()
	needed, err := k.look(ctx, l.host, &c)
	if err != nil || !needed {
		return 0, err
	}
	if c.Boot, err = bootID(); err != nil {
		return 0, err
	}
	id, err := l.journal.Add(c)
	if err != nil {
		return 0, err
	}
	c.ID = id
	l.changes[id] = c
	if err := k.make(ctx, l.host, c); err != nil {
		// Half of it may be done.
		return 0, errors.Join(err, l.revert(ctx, c))
	}
	return id, nil
}

// Revert implements [Agent].
func (l *Local) Revert(ctx context.Context, id uint64) error {
	if id == 0 {
		return nil
	}
	l.applying.Lock()
	defer l.applying.Unlock()
	c, ok := l.changes[id]
	if !ok {
		return fmt.Errorf("there is no change %d, or it is undone", id)
	}
	return l.revert(ctx, c)
}

// revert undoes a change; the caller holds applying. One that can't be undone
// stays in the journal.
func (l *Local) revert(ctx context.Context, c Change) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoDeadline)
	defer cancel()
	if _, err := c.undo(ctx, l.host); err != nil {
		return err
	}
	delete(l.changes, c.ID)
	return l.journal.Done(c.ID)
}

// revertAll undoes what is left, the newest first.
func (l *Local) revertAll(ctx context.Context) error {
	l.applying.Lock()
	defer l.applying.Unlock()
	ids := slices.Sorted(maps.Keys(l.changes))
	var errs []error
	for _, id := range slices.Backward(ids) {
		errs = append(errs, l.revert(ctx, l.changes[id]))
	}
	return errors.Join(errs...)
}
