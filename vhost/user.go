package vhost

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/internal/agent"
	"sweep/internal/diagnose"
	"sweep/internal/testpmd"
)

// User is a vhost-user port (QEMU's docs/interop/vhost-user.rst): testpmd
// listens on a socket and works on the guest's memory, which QEMU must share
// with it (-object memory-backend-...,share=on): where it doesn't, everything
// seems to run and no packet arrives.
type User struct {
	Socket string
}

// Netdev implements [Port].
func (u User) Netdev(id string) []string {
	return []string{
		"-chardev", "socket,id=" + id + "-socket,path=" + u.Socket,
		"-netdev", "vhost-user,id=" + id + ",chardev=" + id + "-socket",
	}
}

// Files implements [Port].
func (User) Files() []string { return nil }

// MaxQueue implements [Port] (virtio_net_max_tx_queue_size in QEMU's
// hw/net/virtio-net.c).
func (User) MaxQueue() int { return 1024 }

// Device is the port as testpmd's device (DPDK's "Poll Mode Driver that wraps
// vhost library" page).
func (u User) Device() testpmd.Device {
	return testpmd.Device{Name: "net_vhost0", Args: []testpmd.Arg{
		{Key: "iface", Value: u.Socket},
		{Key: "queues", Value: "1"},
	}}
}

// WaitListening waits until the process with the given pid listens on the
// socket. It looks and doesn't connect: a vhost-user server takes the first
// who connects for the guest. A file that is merely there says nothing, for a
// killed server leaves it.
func (u User) WaitListening(ctx context.Context, a agent.Agent, pid int) error {
	// The process's own table: it may be in another network namespace.
	table := fmt.Sprintf("/proc/%d/net/unix", pid)
	for {
		r, err := a.Read(ctx, table)
		if err != nil {
			return err
		}
		if r[0].Err != "" {
			return fmt.Errorf("vhost-user socket %s: %s", u.Socket, r[0].Err)
		}
		if listening, _ := diagnose.VhostSocket(r[0].Data, u.Socket, true); listening {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("nobody listens on %s", u.Socket), context.Cause(ctx))
		}
	}
}

// CheckFree says, before anything is started, why the socket can't be made: its
// path is too long, or taken by a server that lives or one that was killed.
func (u User) CheckFree(ctx context.Context, a agent.Agent) error {
	if f := diagnose.SocketPath(u.Socket); f != nil {
		return errors.New(f.String())
	}
	if a.Find(ctx, u.Socket) != nil {
		return nil // nothing is there
	}
	r, err := a.Read(ctx, "/proc/net/unix")
	if err != nil {
		return err
	}
	// With a file there it is bad either way: taken, or stale.
	_, f := diagnose.VhostSocket(r[0].Data, u.Socket, true)
	return errors.New(f.String())
}
