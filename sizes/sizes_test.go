package sizes

import (
	"math"
	"slices"
	"strings"
	"testing"
)

var lab = Path{Max: 1514}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		list string
		want []int
	}{
		{"64", []int{64}},
		{"64,128,256,512,1024,1500", Default()},
		{" 1500 , 64 ", []int{1500, 64}},
		{"64-1500:128", []int{64, 192, 320, 448, 576, 704, 832, 960, 1088, 1216, 1344, 1472, 1500}},
		{"64-192:64,1500", []int{64, 128, 192, 1500}},
		{"64-64:10", []int{64}},
		{"42,1514", []int{42, 1514}},
		{"60-61:100", []int{60, 61}},
	} {
		got, err := Parse(tt.list, lab)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Parse(%q) = %v, %v; want %v", tt.list, got, err, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	nic := Path{Max: 1514, Pad: true}
	for _, tt := range []struct {
		list string
		path Path
		want []string // each is in the message
	}{
		{"", lab, []string{"missing"}},
		{"64,,128", lab, []string{"missing"}},
		{"64-1500", lab, []string{"range without a step", "64-1500:128"}},
		{"64:10", lab, []string{"no range"}},
		{"64-128:0", lab, []string{"step of 0"}},
		{"1500-64:128", lab, []string{"64-1500:128"}},
		{"41", lab, []string{"41 is too short", "42"}},
		{"1515", lab, []string{"1515 is too long", "1514"}},
		{"59", nic, []string{"59 is too short", "pads"}},
		{"64,64", lab, []string{"64 is there twice"}},
		{"64-128:64,128", lab, []string{"128 is there twice"}},
		{"abc", lab, []string{`"abc"`}},
		{"-64", lab, []string{`range without a step`}},
		{"+64", lab, []string{`"+64"`}},
		{"6_4", lab, []string{`"6_4"`}},
		{"0x40", lab, []string{`"0x40"`}},
		{"64.5", lab, []string{`"64.5"`}},
		{"99999999999999999999", lab, []string{"99999999999999999999"}},
		{"10,2000,x", lab, []string{"10 is too short", "2000 is too long", `"x"`}}, // all at once
	} {
		got, err := Parse(tt.list, tt.path)
		if err == nil {
			t.Errorf("Parse(%q) = %v; want an error", tt.list, got)
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("Parse(%q): %v; want %q in it", tt.list, err, w)
			}
		}
	}
}

// The line rates of 10GbE, in Mpps, as worked out by hand from the standard.
func TestLineRate(t *testing.T) {
	for size, want := range map[int]float64{
		64: 14.204545, 128: 8.223684, 256: 4.464286, 512: 2.332090, 1024: 1.192748, 1500: 0.820210,
	} {
		if got := LineRate(size, 10e9) / 1e6; math.Abs(got-want) > 5e-7 {
			t.Errorf("LineRate(%d) = %.6f Mpps; want %.6f", size, got, want)
		}
	}
}
