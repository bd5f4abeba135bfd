package paced

import (
	"strings"
	"testing"

	"sweep/internal/guest"
)

func TestSpec(t *testing.T) {
	g := New("/b", 20_000)
	spec := g.Spec(guest.Host{Socket: "/d/vhost.sock", MAC: "02:00:00:00:00:01", Queue: 1024, CPU: 3, Dir: "/d"})
	want := "/b/pktio send --vdev net_virtio_user0,path=/d/vhost.sock,queues=1,queue_size=1024,mac=02:00:00:00:00:01" +
		" --rate 20000 --cpu 3 --memory 256 --file-prefix sweep-paced"
	if got := strings.Join(spec.Argv, " "); got != want || spec.Env[0] != "RUNTIME_DIRECTORY=/d" {
		t.Errorf("%s, %v; want %s", got, spec.Env, want)
	}
	if vm := g.VM(); vm.Kernel != "/b/pktio" || vm.Initrd != "" {
		t.Errorf("VM = %+v; want the program as its kernel", vm)
	}
}
