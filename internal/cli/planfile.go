package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/plan"
)

// origins say where a plan's parts were given in its file, "plan.yaml:7", by
// their keys. What isn't there is a flag's, or nobody's.
type origins map[string]string

// name is what a complaint calls a part: "--max-trials", or
// "plan.yaml:7: max_trials".
func (o origins) name(key string) string {
	if where, ok := o[key]; ok {
		return where + ": " + key
	}
	return "--" + flagOf(key)
}

// at puts the place in front of an error about a part that stands in a file.
func (o origins) at(key string, err error) error {
	if where, ok := o[key]; ok && err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return err
}

// flagOf is the flag with a key's value.
func flagOf(key string) string { return strings.ReplaceAll(key, "_", "-") }

// given is whether a part was given, as a flag or in the file.
func given(cmd *cobra.Command, from origins, key string) bool {
	_, ok := from[key]
	return ok || cmd.Flags().Changed(flagOf(key))
}

// applyFile sets the flags that the command line leaves open to what a plan's
// file says.
func applyFile(cmd *cobra.Command, file plan.File, wrong *complaints) origins {
	from := origins{}
	for _, part := range file.Parts {
		if decided(cmd, part.Key) {
			continue
		}
		if err := cmd.Flags().Lookup(flagOf(part.Key)).Value.Set(part.Value); err != nil {
			wrong.add(fmt.Errorf("%s: %s: %w", part.Where, part.Key, err))
			continue
		}
		from[part.Key] = part.Where
	}
	return from
}

// decided is whether the command line says what a key of the file would.
func decided(cmd *cobra.Command, key string) bool {
	changed := cmd.Flags().Changed
	switch key {
	case "trials", "full": // either says how many blocks there are
		return changed("trials") || changed("full")
	}
	return changed(flagOf(key))
}
