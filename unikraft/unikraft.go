// Package unikraft is the guest of the published experiment: a unikernel that
// transmits through Unikraft's uknetdev API.
//
// Its application is not written yet. What is here is what the rest of the kit
// needs to know until then: its name, and what to say of it.
package unikraft

import "errors"

// Name is the guest's name, as published.
const Name = "unikraft"

// Missing says why the guest can't run.
func Missing() error {
	return errors.New("this version of the kit has no Unikraft application yet; systems with other guests run without it")
}
