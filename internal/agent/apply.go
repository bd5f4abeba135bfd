package agent

import (
	"context"
	"fmt"
)

// Apply implements [Agent].
func (l *Local) Apply(_ context.Context, c Change) (uint64, error) {
	return 0, fmt.Errorf("a change of the kind %q can't be made yet", c.Kind)
}

// Revert implements [Agent].
func (l *Local) Revert(_ context.Context, id uint64) error {
	if id == 0 {
		return nil
	}
	return fmt.Errorf("there is no change %d", id)
}
