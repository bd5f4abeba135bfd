package agent

import (
	"context"
	"fmt"
)

// PutDir makes a folder of the run's own, journalled, for what is brought to this
// machine from another one. It is in /var/tmp, which a reboot leaves as it is
// (file-hierarchy(7)) and which is on a disk where /tmp may be memory. [Local.Remove]
// removes it.
func (l *Local) PutDir(context.Context) (string, error) {
	const parent = "/var/tmp"
	dir, entry, err := l.journal.makeDir(parent)
	if err != nil {
		return "", fmt.Errorf("make a folder for files in %s: %w", parent, err)
	}
	l.mu.Lock()
	l.dirs[dir] = entry
	l.mu.Unlock()
	return dir, nil
}
