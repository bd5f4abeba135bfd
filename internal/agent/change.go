package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"context"
)

// Kinds of changes.
const (
	ChangeProcess = "process" // a process was started; back: end Process
	ChangeDir     = "dir"     // a folder was made; back: remove Path and what is in it
	ChangeFile    = "file"    // Now was written to Path, a file of /proc or /sys; back: write Was
	ChangeModule  = "module"  // the kernel module Name was loaded; back: unload it
	ChangeBind    = "bind"    // the PCI device Name was bound to the driver Now; back: to Was
	ChangeLink    = "link"    // the interface Name was set up as Link says; back: as LinkWas says
	ChangeMacvtap = "macvtap" // the macvtap Name was made over the interface Over; back: delete it
	ChangeHost    = "host"    // an agent was brought to the host Name; back: have it undo its journal, and remove it
)

// Change is one change to the machine and the way back. Those that whoever
// wants one makes are [WriteFile], [LoadModule], [BindDriver], [SetLink] and
// [AddMacvtap]; what was before, Apply finds out.
type Change struct {
	ID   uint64 `json:"id"`
	Kind string `json:"kind,omitempty"`
	Done bool   `json:"done,omitempty"` // the change ID was undone

	// Boot is the boot that the change was made in. What the kernel forgets at
	// a reboot is not undone in another boot.
	Boot string `json:"boot,omitempty"`

	Name    string    `json:"name,omitempty"`
	Path    string    `json:"path,omitempty"`
	Process *Identity `json:"process,omitempty"`
	Now     string    `json:"now,omitempty"`
	Was     string    `json:"was,omitempty"`

	With []string `json:"with,omitempty"` // modules that came with a module, in the order to unload them

	Override  string   `json:"override,omitempty"`  // of a device: its driver_override before
	Interface string   `json:"interface,omitempty"` // that the driver Was made of a device
	Addresses []string `json:"addresses,omitempty"` // of Interface, such as 198.18.0.1/24

	Over    string `json:"over,omitempty"` // the interface under a macvtap
	MAC     string `json:"mac,omitempty"`  // of a macvtap
	Link    *Link  `json:"link,omitempty"`
	LinkWas *Link  `json:"link_was,omitempty"`

	// Of a host: the user's file of OpenSSH's configuration, where one was
	// named, and whether the agent runs as root by sudo there.
	SSHConfig string `json:"ssh_config,omitempty"`
	Sudo      bool   `json:"sudo,omitempty"`

	// NamedTwice says that the user named a device twice for it to be taken
	// although the machine itself uses it (see [ErrProtected]).
	NamedTwice bool `json:"named_twice,omitempty"`
}

// Link is how an interface is set up, as far as a run changes it.
type Link struct {
	Up      bool `json:"up"`
	Promisc bool `json:"promisc"`
	MTU     int  `json:"mtu,omitempty"` // 0: as it is
	// IPv6 says whether the kernel speaks IPv6 on the interface: its neighbour
	// and router solicitations would be counted as frames.
	IPv6 bool `json:"ipv6"`
}

// WriteFile is a value that is written to a file of /proc or /sys.
func WriteFile(path, value string) Change {
	return Change{Kind: ChangeFile, Path: path, Now: value}
}

// LoadModule is a kernel module that is loaded.
func LoadModule(name string) Change { return Change{Kind: ChangeModule, Name: name} }

// BindDriver is a PCI device, such as 0000:3b:00.0, that is bound to a driver.
func BindDriver(pci, driver string) Change {
	return Change{Kind: ChangeBind, Name: pci, Now: driver}
}

// SetLink is an interface that is set up.
func SetLink(name string, l Link) Change { return Change{Kind: ChangeLink, Name: name, Link: &l} }

// AddMacvtap is a macvtap in bridge mode that is made over an interface. Its
// character device is /dev/tapN, with the number of the new interface.
func AddMacvtap(over, name, mac string) Change {
	return Change{Kind: ChangeMacvtap, Name: name, Over: over, MAC: mac}
}

// change is what there is to do about a kind of change.
type change interface {
	// look fills in what is before the change, and says whether the machine
	// is not yet as it is wanted. It refuses what must not be done.
	look(ctx context.Context, h host, c *Change) (needed bool, err error)
	// make makes the change.
	make(ctx context.Context, h host, c Change) error
	// undo brings back what was before, from wherever an attempt to make the
	// change or to undo it ended, and says whether there was anything to do.
	undo(ctx context.Context, h host, c Change) (bool, error)
}

// ofKind are the changes that [Local.Apply] makes. The kernel forgets all of
// them at a reboot.
func ofKind(kind string) (change, bool) {
	switch kind {
	case ChangeFile:
		return fileChange{}, true
	case ChangeModule:
		return moduleChange{}, true
	case ChangeBind:
		return bindChange{}, true
	case ChangeLink:
		return linkChange{}, true
	case ChangeMacvtap:
		return macvtapChange{}, true
	}
	return nil, false
}

// undo undoes a change of this boot or of an earlier one, and says whether
// there was anything to do.
func (c Change) undo(ctx context.Context, h host) (bool, error) {
	switch c.Kind {
	case ChangeProcess:
		return c.endProcess()
	case ChangeDir:
		if _, err := os.Lstat(c.Path); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return true, os.RemoveAll(c.Path)
	}
	k, ok := ofKind(c.Kind)
	if !ok {
		return false, fmt.Errorf("change %d is of the kind %q, which this version does not know", c.ID, c.Kind)
	}
	boot, err := bootID()
	if err != nil || boot != c.Boot {
		return false, err
	}
	did, err := k.undo(ctx, h, c)
	if err != nil {
		return did, fmt.Errorf("undo %s: %w", c.what(), err)
	}
	return did, nil
}

// endProcess ends a process of this boot: an older one's pid is somebody
// else's now.
func (c Change) endProcess() (bool, error) {
	if c.Process == nil || !c.Process.Alive() {
		return false, nil
	}
	if err := c.Process.Kill(syscall.SIGKILL); err != nil {
		return false, err
	}
	if !c.Process.WaitGone(5 * time.Second) {
		return false, fmt.Errorf("%s (pid %d) does not end", c.Name, c.Process.PID)
	}
	return true, nil
}

// what says what the change is, as in "undo the driver of 0000:3b:00.0".
func (c Change) what() string {
	switch c.Kind {
	case ChangeFile:
		return "the value of " + c.Path
	case ChangeModule:
		return "the loading of the module " + c.Name
	case ChangeBind:
		return "the driver of " + c.Name
	case ChangeLink:
		return "the settings of the interface " + c.Name
	case ChangeMacvtap:
		return "the macvtap " + c.Name
	}
	return "a change of the kind " + c.Kind
}

// String says what undoing the change did.
func (c Change) String() string {
	switch c.Kind {
	case ChangeProcess:
		return fmt.Sprintf("ended %s (pid %d)", c.Name, c.Process.PID)
	case ChangeFile:
		return fmt.Sprintf("wrote %s to %s again", c.Was, c.Path)
	case ChangeModule:
		return "unloaded the module " + c.Name
	case ChangeBind:
		return c.unbound()
	case ChangeLink:
		return "set up the interface " + c.Name + " as it was"
	case ChangeMacvtap:
		return "deleted the macvtap " + c.Name
	case ChangeHost:
		return "removed the agent from " + c.Name
	}
	return "removed " + c.Path
}

func (c Change) unbound() string {
	text := fmt.Sprintf("gave %s back to the driver %s", c.Name, c.Was)
	if c.Was == "" {
		text = fmt.Sprintf("left %s without a driver, as it was", c.Name)
	}
	if len(c.Addresses) > 0 {
		text += fmt.Sprintf(", and %s its address %s (routes over it are not brought back)", c.Interface, strings.Join(c.Addresses, ", "))
	}
	return text
}
