// Package remote has the agent of another machine: [Dial] brings this binary to a
// host over the user's own ssh and starts "sweep agent" there, which is [Serve];
// what it returns, a [Host], is an [agent.Agent] like the one of this machine.
//
// The two sides speak JSON lines over the one ssh connection (wire.go): a hello
// from each, then calls and their answers in any order, and what processes print
// as it comes. Each side says every two seconds that it lives. One that has heard
// nothing for fifteen takes the other for dead: the host's side then ends its
// processes and undoes its changes, and every call that waits on this side returns
// an error that says so.
package remote
