package results

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sweep/internal/tape"
)

// Load reads a run's folder. Lines of trials.jsonl that are damaged are
// returned as problems with their number; the others count.
func Load(path string) (run Run, trials []Trial, problems []string, err error) {
	b, err := os.ReadFile(filepath.Join(path, runFile))
	if err != nil {
		return run, nil, nil, fmt.Errorf("%s holds no run: %w", path, err)
	}
	if err := json.Unmarshal(b, &run); err != nil {
		return run, nil, nil, fmt.Errorf("%s: %w", filepath.Join(path, runFile), err)
	}
	problems, err = eachLine(filepath.Join(path, trialsFile), "trial", func(b []byte) error {
		var t Trial
		if err := json.Unmarshal(b, &t); err != nil {
			return err
		}
		trials = append(trials, t)
		return nil
	})
	return run, trials, problems, err
}

// LoadTapes reads the tapes of the trials that came to their end, in the order
// in which they did.
func LoadTapes(path string) (tapes []*tape.Tape, problems []string, err error) {
	var deck tape.Deck
	problems, err = eachLine(filepath.Join(path, tapeFile), "line of a tape", func(b []byte) error {
		var l tape.Line
		if err := json.Unmarshal(b, &l); err != nil {
			return err
		}
		deck.Add(l)
		return nil
	})
	return deck.Tapes, problems, err
}

// eachLine calls do with each line of a file, and collects what it says of
// those that are damaged.
func eachLine(path, what string, do func([]byte) error) (problems []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for n := 1; sc.Scan(); n++ {
		if err := do(sc.Bytes()); err != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: no %s: %v", path, n, what, err))
		}
	}
	return problems, sc.Err()
}
