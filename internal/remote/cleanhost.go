package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sweep/internal/agent"
)

// cleanDeadline is how long cleaning a host may take. That it is silent ends it
// sooner (see Options.Deadline).
const cleanDeadline = 3 * time.Minute

// CleanHost undoes a change of the kind [agent.ChangeHost]: what agents changed
// there, and that the binary was brought. A run that lives there is left alone,
// and is an error.
func CleanHost(ctx context.Context, c agent.Change) error {
	ctx, cancel := context.WithTimeout(ctx, cleanDeadline)
	defer cancel()
	undone, err := Clean(ctx, Options{Destination: c.Name, ConfigFile: c.SSHConfig, Sudo: c.Sudo})
	// An agent whose connection was cut takes a while to notice.
	for end := time.Now().Add(defaultSilence + 10*time.Second); err == nil && slices.ContainsFunc(undone, lives) && time.Now().Before(end); {
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		undone, err = Clean(ctx, Options{Destination: c.Name, ConfigFile: c.SSHConfig, Sudo: c.Sudo})
	}
	errs := []error{err}
	for _, u := range undone {
		if lives(u) {
			errs = append(errs, fmt.Errorf("an agent of a sweep that lives is on %s (pid %d there); it ends within %v of its sweep", c.Name, u.Running.PID, defaultSilence))
		}
		errs = append(errs, u.Errs...)
	}
	return errors.Join(errs...)
}

func lives(u agent.Undone) bool { return u.Running != nil }
