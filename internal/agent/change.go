package agent

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

	Over    string `json:"over,omitempty"` // the interface under a macvtap
	MAC     string `json:"mac,omitempty"`  // of a macvtap
	Link    *Link  `json:"link,omitempty"`
	LinkWas *Link  `json:"link_was,omitempty"`

	// NamedTwice says that the user named a device twice for it to be taken
	// although the machine itself uses it (see [Protected]).
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
