package run

import (
	"fmt"
	"io"

	"sweep/internal/plan"
	"sweep/internal/results"
)

// openTranscripts opens a file for what each process of a boot prints.
func openTranscripts(f *results.Folder, b plan.Boot, processes ...string) (map[string]io.Writer, error) {
	logs := map[string]io.Writer{}
	for _, p := range processes {
		w, err := f.Console(fmt.Sprintf("%03d-%s-%s", b.Number, b.System.FileName(), p))
		if err != nil {
			return nil, err
		}
		logs[p] = w
	}
	return logs, nil
}
