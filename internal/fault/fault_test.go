package fault

import (
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Spec{
		"none":                      {},
		"drop=1000":                 {Drop: 1000},
		"short=4":                   {Short: 4, ShortEvery: 1},
		"short=4/1000":              {Short: 4, ShortEvery: 1000},
		"delay=5ms":                 {Delay: 5 * time.Millisecond},
		"address=02:00:00:00:00:99": {Address: net.HardwareAddr{2, 0, 0, 0, 0, 0x99}},
		"pause=300ms":               {Pause: Once{Is: true, For: 300 * time.Millisecond}},
		"pause=300ms@2s":            {Pause: Once{Is: true, For: 300 * time.Millisecond, After: 2 * time.Second}},
		"hold":                      {Hold: Once{Is: true}},
		"hold@1.5s":                 {Hold: Once{Is: true, After: 1500 * time.Millisecond}},
		"drop=2,short=1,delay=1µs":  {Drop: 2, Short: 1, ShortEvery: 1, Delay: time.Microsecond},
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if s := got.String(); s != text {
			t.Errorf("Parse(%q).String() = %q", text, s)
		}
	}
}

// As they are typed while a relay runs: a blank does for the sign, each has its
// new value, and none ends all.
func TestAdd(t *testing.T) {
	var s Spec
	for _, step := range []struct{ typed, want string }{
		{"drop 10", "drop=10"},
		{"pause 300ms", "drop=10,pause=300ms"},
		{"drop=20, delay=1ms", "drop=20,delay=1ms,pause=300ms"},
		{"none,hold", "hold"},
		{"none", "none"},
	} {
		if err := s.Add(step.typed); err != nil || s.String() != step.want {
			t.Errorf("after %q: %v, %v; want %v", step.typed, s, err, step.want)
		}
	}
}

func TestParseSaysAllThatIsWrong(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                {`"" is none; there are drop=N`},
		"drop":                            {"an N from 1"},
		"drop=0":                          {"an N from 1"},
		"drop=-1":                         {"an N from 1"},
		"drop=4294967296":                 {"an N from 1"},
		"short=0":                         {"1 to 1500 bytes"},
		"short=1501":                      {"1 to 1500 bytes"},
		"short=4/0":                       {"an N from 1"},
		"short=x":                         {`"short=x"`},
		"delay=5":                         {"it needs a time"},
		"delay=-5ms":                      {"up to 10s"},
		"delay=11s":                       {"up to 10s"},
		"pause":                           {"how long"},
		"pause=2m":                        {"up to 1m0s"},
		"pause=1s@":                       {"it needs a time"},
		"hold=1s":                         {"takes no time"},
		"hold@never":                      {"it needs a time"},
		"hold1s":                          {`"hold1s" is none`},
		"address=02":                      {`"address=02"`},
		"address=02:00:00:00:00:00:00:01": {"six bytes"},
		"none=1":                          {"takes no value"},
		"drop=0,loss=1,short=9999":        {"an N from 1", `"loss=1" is none`, "1 to 1500 bytes"},
	} {
		_, err := Parse(text)
		if err == nil {
			t.Errorf("Parse(%q) is no error", text)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("Parse(%q) = %v; want %q in it", text, err, w)
			}
		}
	}
	s := Spec{Drop: 7}
	if err := s.Add("delay=1ms,drop=0"); err == nil || s.String() != "drop=7" {
		t.Errorf("an error changed the faults to %v (%v)", s, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"none", "drop=1000,short=4/9", "pause 300ms@2s", "hold@1s", "address=02:00:00:00:00:01,delay=1ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("Parse(%q) is %v, which Parse reads as %v, %v", text, s, again, err)
		}
	})
}
