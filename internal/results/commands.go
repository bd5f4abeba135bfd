package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// LoadCommands reads the command lines of a run's folder, a shell script; empty
// where nobody kept them.
func LoadCommands(path string) (string, error) {
	b, err := os.ReadFile(filepath.Join(path, commandsFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the command lines: %w", err)
	}
	return string(b), nil
}
