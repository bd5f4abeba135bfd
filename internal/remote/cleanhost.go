package remote

import (
	"context"
	"errors"
	"fmt"
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
	errs := []error{err}
	for _, u := range undone {
		if u.Running != nil {
			errs = append(errs, fmt.Errorf("an agent of a sweep that lives is on %s (pid %d there); it ends within %v of its sweep", c.Name, u.Running.PID, defaultSilence))
		}
		errs = append(errs, u.Errs...)
	}
	return errors.Join(errs...)
}
