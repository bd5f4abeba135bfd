// Package stats is the arithmetic of doubt: exact tests and intervals for the
// few independent values that a run has of each point, without the assumption
// that they are normal.
package stats

// Interval is where a value lies.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // such as 0.95
}

// Mode is a value around which some of the samples lie.
type Mode struct {
	Center float64 `json:"center"` // their median
	Count  int     `json:"count"`
}
