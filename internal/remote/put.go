package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// pieceSize is how much of a file one call brings. A piece is under way for as
// long as an answer takes to come back, so small ones are slow over a long way.
const pieceSize = 1 << 20

// Put implements [agent.Agent]. A file that the host has, by its checksum, is not
// brought again.
func (h *Host) Put(ctx context.Context, path string) (string, error) {
	select { // one after the other: of two that are the same the second is there then
	case <-h.putting:
	case <-ctx.Done():
		return "", fmt.Errorf("bring %s to %s: %w", path, h.name, ctx.Err())
	}
	defer func() { h.putting <- struct{}{} }()
	at, err := h.put(ctx, path)
	if err != nil {
		return "", fmt.Errorf("bring %s to %s: %w", path, h.name, err)
	}
	return at, nil
}

func (h *Host) put(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	state, err := call[putState](ctx, h, methodPut, putArgs{
		SHA256: hex.EncodeToString(sum.Sum(nil)),
		Name:   filepath.Base(path),
		Size:   size,
		Mode:   st.Mode().Perm(),
	}, func(s putState) { h.abortPut(s) })
	if err != nil || state.Have {
		return state.Path, err
	}
	if err := h.pieces(ctx, f, state.ID); err != nil {
		h.abortPut(state)
		return "", err
	}
	state, err = call[putState](ctx, h, methodPutEnd, putEndArgs{ID: state.ID}, nil)
	return state.Path, err
}

func (h *Host) pieces(ctx context.Context, f io.Reader, id uint64) error {
	buf := make([]byte, pieceSize)
	for {
		n, err := io.ReadFull(f, buf)
		if n > 0 {
			if _, err := call[none](ctx, h, methodPiece, pieceArgs{ID: id, Data: buf[:n]}, nil); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// abortPut has the host forget a file that won't come whole. What it has of it is
// removed with the agent's other files at the latest, so an error is none.
func (h *Host) abortPut(s putState) {
	if s.Have {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), back)
	defer cancel()
	_, _ = call[putState](ctx, h, methodPutEnd, putEndArgs{ID: s.ID, Abort: true}, nil)
}
