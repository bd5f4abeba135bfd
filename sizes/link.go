package sizes

import (
	"math"
	"strconv"
	"strings"
)

// LinkRate is what a link of a name such as 10GbE carries, in bits a second; 0
// for a wire that has no such limit, as those of a lab on one machine, or that
// nobody named.
func LinkRate(name string) float64 {
	gigabits, ok := strings.CutSuffix(name, "GbE")
	n, err := strconv.ParseFloat(gigabits, 64)
	if !ok || err != nil || !(n > 0) || math.IsInf(n, 0) {
		return 0
	}
	return n * 1e9
}
