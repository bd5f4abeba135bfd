package agent

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Journal is the list of what a run changed on the machine: a file of JSON
// lines in the user's state folder, the first naming the run that owns it. A
// line is synced to disk before the change it is about is made. The file goes
// when everything in it was undone.
type Journal struct {
	path string
	made []string // see owner

	mu   sync.Mutex
	f    *os.File
	size int64 // of the lines written whole
	next uint64
	open map[uint64]Change
}

// owner is the first line of a journal.
type owner struct {
	Owner   Identity `json:"owner"`
	Results string   `json:"results,omitempty"`
	// Made are the folders that were made for the journals, the innermost
	// first: they go with the last of these.
	Made []string `json:"made,omitempty"`
}

// JournalDir is the folder of this user's journals: $SWEEP_STATE_DIR, else
// $XDG_STATE_HOME/sweep, else ~/.local/state/sweep, else, for a user without
// a home, /var/tmp/sweep-UID. It outlives a reboot, for so do some changes.
func JournalDir() string {
	if dir := os.Getenv("SWEEP_STATE_DIR"); dir != "" {
		return dir
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sweep")
	}
	if home, err := os.UserHomeDir(); err == nil && unix.Access(home, unix.W_OK) == nil {
		return filepath.Join(home, ".local", "state", "sweep")
	}
	return fmt.Sprintf("/var/tmp/sweep-%d", os.Getuid())
}

// OpenJournal starts the journal of a run in dir. results is the run's folder,
// for whoever finds the journal later.
func OpenJournal(dir, results string) (*Journal, error) {
	self, err := IdentityOf(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	made := missing(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.journal", time.Now().UTC().Format("20060102T150405"), self.PID))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{path: path, made: made, f: f, next: 1, open: map[uint64]Change{}}
	err = j.write(owner{Owner: self, Results: results, Made: made})
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		f.Close()
		_ = removeJournal(path, made)
		return nil, fmt.Errorf("journal: %w", err)
	}
	return j, nil
}

// Path is the journal's file.
func (j *Journal) Path() string { return j.path }

// Add writes a change that is about to be made and returns its number.
func (j *Journal) Add(c Change) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c.ID = j.next
	if err := j.write(c); err != nil {
		return 0, fmt.Errorf("journal %s: %w", j.path, err)
	}
	j.next++
	j.open[c.ID] = c
	return c.ID, nil
}

// Done writes that a change was undone.
func (j *Journal) Done(id uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.open, id)
	if j.f == nil {
		return nil
	}
	if err := j.write(Change{ID: id, Done: true}); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	return nil
}

// Close removes the journal if nothing in it is left to undo.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.f == nil {
		return nil
	}
	err := j.f.Close()
	j.f = nil
	if len(j.open) > 0 {
		return errors.Join(err, fmt.Errorf("%d changes are not undone; ./clean.sh tries again", len(j.open)))
	}
	return errors.Join(err, removeJournal(j.path, j.made))
}

// makeDir makes a folder with a random name in parent, journalled first.
func (j *Journal) makeDir(parent string) (string, uint64, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", 0, err
	}
	dir := filepath.Join(parent, "sweep-"+hex.EncodeToString(b[:]))
	// Had the name been somebody's already, undoing would remove what isn't
	// ours.
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return "", 0, fmt.Errorf("%s exists", dir)
	}
	entry, err := j.Add(Change{Kind: ChangeDir, Path: dir})
	if err != nil {
		return "", 0, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", 0, errors.Join(err, j.Done(entry))
	}
	return dir, entry, nil
}

// write appends a line and syncs it. The caller holds mu or is alone.
func (j *Journal) write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := j.f.Write(append(b, '\n'))
	if err != nil {
		// Half a line, on a full disk, would swallow the next one.
		return errors.Join(err, j.f.Truncate(j.size))
	}
	j.size += int64(n)
	return j.f.Sync()
}

// Undone is what Undo did about one journal.
type Undone struct {
	Journal string
	Results string    // the folder of the run it belongs to
	Running *Identity // the run still lives: its journal was left alone
	Changes []Change  // what was undone, in that order
	Errs    []error   // what could not be undone; it stays in the journal
}

// CleanHost undoes a change of the kind [ChangeHost].
type CleanHost func(ctx context.Context, c Change) error

// NoHosts is for a machine whose runs bring no agent to another one.
func NoHosts(_ context.Context, c Change) error {
	return fmt.Errorf("an agent may be on %s, which is not reached from here", c.Name)
}

// ErrHost says that what a run left on another machine can't be undone now, such
// as because it can't be reached.
type ErrHost struct {
	Host string
	Err  error
}

func (e *ErrHost) Error() string { return fmt.Sprintf("clean %s: %v", e.Host, e.Err) }

func (e *ErrHost) Unwrap() error { return e.Err }

// Undo undoes what the journals in dir hold, the newest change first, but for
// the runs that still live. It can be called again and again. Processes of an
// earlier boot are gone with it; their pids are somebody else's now. hosts undoes
// what an agent did on another machine, and removes the agent from there.
func Undo(ctx context.Context, dir string, hosts CleanHost) ([]Undone, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.journal"))
	if err != nil {
		return nil, err
	}
	sort.Sort(sort.Reverse(sort.StringSlice(paths)))
	var out []Undone
	for _, path := range paths {
		u, err := undoJournal(ctx, path, hosts)
		if err != nil {
			return out, fmt.Errorf("journal %s: %w", path, err)
		}
		out = append(out, u)
	}
	return out, nil
}

func undoJournal(ctx context.Context, path string, hosts CleanHost) (Undone, error) {
	u := Undone{Journal: path}
	own, changes, err := readJournal(path)
	if err != nil {
		return u, err
	}
	u.Results = own.Results
	if own.Owner.Alive() {
		u.Running = &own.Owner
		return u, nil
	}
	for i := len(changes) - 1; i >= 0; i-- {
		did, err := undoOne(ctx, changes[i], hosts)
		if err != nil {
			u.Errs = append(u.Errs, err)
		} else if did {
			u.Changes = append(u.Changes, changes[i])
		}
	}
	if len(u.Errs) > 0 {
		return u, nil
	}
	return u, removeJournal(path, own.Made)
}

func undoOne(ctx context.Context, c Change, hosts CleanHost) (bool, error) {
	if c.Kind == ChangeHost {
		if err := hosts(ctx, c); err != nil {
			return false, &ErrHost{c.Name, err}
		}
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, undoDeadline)
	defer cancel()
	return c.undo(ctx, thisHost())
}

// readJournal returns the owner and the changes that are not undone, oldest
// first. A last line that was cut by a crash is about a change that was never
// made.
func readJournal(path string) (owner, []Change, error) {
	f, err := os.Open(path)
	if err != nil {
		return owner{}, nil, err
	}
	defer f.Close()
	var own owner
	var changes []Change
	done := map[uint64]bool{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for n := 1; sc.Scan(); n++ {
		if n == 1 {
			if json.Unmarshal(sc.Bytes(), &own) != nil {
				break // killed while it wrote its first line: it changed nothing
			}
			continue
		}
		var c Change
		if json.Unmarshal(sc.Bytes(), &c) != nil {
			continue
		}
		if c.Done {
			done[c.ID] = true
		} else {
			changes = append(changes, c)
		}
	}
	if err := sc.Err(); err != nil {
		return own, nil, err
	}
	left := changes[:0]
	for _, c := range changes {
		if !done[c.ID] {
			left = append(left, c)
		}
	}
	return own, left, nil
}

// missing are a folder and those above it that are not there, the innermost
// first.
func missing(dir string) []string {
	var out []string
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return out
		}
		out = append(out, dir)
	}
}

// removeJournal removes the file, and the folders that were made for it where
// nothing else is in them. One with the kit's name was always made for it.
func removeJournal(path string, made []string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if len(made) == 0 && strings.HasPrefix(filepath.Base(dir), "sweep") {
		made = []string{dir}
	}
	for _, dir := range made {
		_ = os.Remove(dir) // fails where others are left, as it should
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
