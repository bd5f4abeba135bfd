package stats

// leastLook is from how many values on an interval can be narrow enough to stop.
const leastLook = 7

// StopConfidence is what an interval is worked out for where its width decides
// when to stop measuring, so that it holds the truth with [Confidence]: whoever
// looks again and again and stops at a narrow one stops more often than not
// where the values happen to lie close together, and misses the truth more often
// than an interval that nobody waited for. One miss in thirty instead of one in
// twenty makes up for it, as simulated (docs/statistics.md).
const StopConfidence = 1 - 1.0/30

// StoppedInterval is [MedianInterval] at 95 % of values whose number was decided
// by [Narrow].
func StoppedInterval(values []float64) (*Interval, string) {
	interval, why := MedianInterval(values, StopConfidence)
	if interval != nil {
		interval.Confidence = Confidence
	}
	return interval, why
}

// Narrow says whether enough was measured: from 7 values on, half the width of
// the [StoppedInterval] is at most this share of the median, and the values have
// one mode. It may be asked after each value.
func Narrow(values []float64, precision float64) bool {
	if len(values) < leastLook || Modes(values) != nil {
		return false
	}
	interval, _ := StoppedInterval(values)
	return interval != nil && interval.High-interval.Low <= 2*precision*Median(values)
}
