package guest

import "sweep/internal/agent"

// Process is a [Guest] that is a process of the host and no virtual machine: it
// attaches to the vhost-user port by itself. Its VM says no more than what the
// program is, as the kernel.
type Process interface {
	Guest
	// Spec is the process.
	Spec(Host) agent.Spec
}

// Host is where a [Process] runs.
type Host struct {
	Socket string // of the vhost-user port, to connect to
	MAC    string // of its NIC
	Queue  int    // the length of its rings, in descriptors
	CPU    int    // to poll on
	Dir    string // for its runtime files
}
