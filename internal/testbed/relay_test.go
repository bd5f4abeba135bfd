package testbed

import (
	"strings"
	"testing"
	"time"

	"sweep/internal/fault"
)

func TestRelayed(t *testing.T) {
	f, err := fault.Parse("drop=1000,pause=300ms@2s")
	if err != nil {
		t.Fatal(err)
	}
	w, err := WithFault(Memif{RingExp: 14}, "/b/pktio", f)
	if err != nil {
		t.Fatal(err)
	}
	// The forwarder's end is what it is without a relay, and the client's but
	// for its socket; the relay has the other ends.
	server, client := w.Ports("/d")
	if got, want := server.String(), "net_memif0,role=server,socket=/d/memif.sock,socket-abstract=no,rsize=14"; got != want {
		t.Errorf("the forwarder's end is %s; want %s", got, want)
	}
	if got, want := client.String(), "net_memif0,role=client,socket=/d/relayed.sock,socket-abstract=no,rsize=14"; got != want {
		t.Errorf("the client's end is %s; want %s", got, want)
	}
	spec := w.(Relayed).Spec("/d", Placement{Forwarder: 0, Guest: 1, Client: 2, Share: "cpu"})
	want := "/b/pktio relay" +
		" --vdev net_memif0,role=client,socket=/d/memif.sock,socket-abstract=no,rsize=14" +
		" --vdev net_memif1,role=server,socket=/d/relayed.sock,socket-abstract=no,rsize=14" +
		" --cpu 2 --file-prefix sweep-relay --fault drop=1000,pause=300ms@2s"
	if got := strings.Join(spec.Argv, " "); got != want || spec.Slice != 300*time.Microsecond || spec.Env[0] != "RUNTIME_DIRECTORY=/d" {
		t.Errorf("the relay is %s, %v, %v; want %s", got, spec.Slice, spec.Env, want)
	}
	if got := w.(Relayed).Caveat(); got != "a fault was planted: drop=1000,pause=300ms@2s" {
		t.Errorf("Caveat = %q", got)
	}
	if got := (Relayed{}).Caveat(); !strings.Contains(got, "without a fault") {
		t.Errorf("Caveat of none = %q", got)
	}
	if _, err := WithFault(Veth{}, "/b/pktio", f); err == nil || !strings.Contains(err.Error(), "memif") {
		t.Errorf("WithFault of a veth: %v", err)
	}
}
