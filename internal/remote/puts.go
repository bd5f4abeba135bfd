package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"sync"
)

// puts is the host's side of Put: files that are brought, piece by piece.
type puts struct {
	m Machine

	mu    sync.Mutex
	dir   string            // where they are; "" until there is one
	at    map[string]string // checksum to path, of those that came whole
	under map[uint64]*put   // under way
	next  uint64
}

// put is a file that is being brought.
type put struct {
	putArgs
	f    *os.File
	sum  hash.Hash
	size int64
	path string // what it will be called
}

// begin says where a file is, or takes up one.
func (s *puts) begin(ctx context.Context, a putArgs) (putState, error) {
	// The name comes from the other side: it is one name, in our folder.
	if a.Name != filepath.Base(a.Name) || a.Name == "." || a.Name == ".." || a.Name == "/" || len(a.SHA256) != 2*sha256.Size {
		return putState{}, fmt.Errorf("%q with the checksum %q is no file that could be brought", a.Name, a.SHA256)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if path, ok := s.at[a.SHA256]; ok {
		if st, err := os.Stat(path); err == nil && st.Size() == a.Size {
			return putState{Path: path, Have: true}, nil
		}
	}
	if s.dir == "" {
		dir, err := s.m.PutDir(ctx)
		if err != nil {
			return putState{}, err
		}
		s.dir = dir
	}
	s.next++
	// A folder for each: two files may have one name.
	sub := filepath.Join(s.dir, fmt.Sprint(s.next))
	if err := os.Mkdir(sub, 0o700); err != nil {
		return putState{}, err
	}
	p := &put{putArgs: a, sum: sha256.New(), path: filepath.Join(sub, a.Name)}
	f, err := os.OpenFile(p.path+".part", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return putState{}, err
	}
	p.f = f
	s.under[s.next] = p
	return putState{Path: p.path, ID: s.next}, nil
}

func (s *puts) get(id uint64) (*put, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.under[id]
	if p == nil {
		return nil, fmt.Errorf("no file %d is being brought", id)
	}
	return p, nil
}

// piece takes the next piece. Pieces of one file come one after the other: each
// waits for the answer to the last.
func (s *puts) piece(a pieceArgs) error {
	p, err := s.get(a.ID)
	if err != nil {
		return err
	}
	p.size += int64(len(a.Data))
	p.sum.Write(a.Data)
	_, err = p.f.Write(a.Data)
	return err
}

// end compares the checksum; the file is there under its name only where it is
// the one that was meant.
func (s *puts) end(a putEndArgs) (putState, error) {
	p, err := s.get(a.ID)
	if err != nil {
		return putState{}, err
	}
	s.mu.Lock()
	delete(s.under, a.ID)
	s.mu.Unlock()
	part := p.path + ".part"
	if a.Abort {
		return putState{}, errors.Join(p.f.Close(), os.RemoveAll(filepath.Dir(p.path)))
	}
	err = p.f.Chmod(p.Mode.Perm()&0o700 | 0o600)
	if err := errors.Join(err, p.f.Close()); err != nil {
		return putState{}, err
	}
	if got := hex.EncodeToString(p.sum.Sum(nil)); got != p.SHA256 || p.size != p.Size {
		return putState{}, errors.Join(
			fmt.Errorf("%s changed while it was brought: %d bytes with the checksum %s came, not %d with %s", p.Name, p.size, got, p.Size, p.SHA256),
			os.RemoveAll(filepath.Dir(p.path)))
	}
	if err := os.Rename(part, p.path); err != nil {
		return putState{}, err
	}
	s.mu.Lock()
	s.at[p.SHA256] = p.path
	s.mu.Unlock()
	return putState{Path: p.path}, nil
}

// close forgets what is under way. The folder goes with the agent.
func (s *puts) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, p := range s.under {
		p.f.Close()
		delete(s.under, id)
	}
	s.at = map[string]string{}
	s.dir = ""
}
