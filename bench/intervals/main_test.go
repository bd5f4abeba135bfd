package main

import "testing"

func TestProf(t *testing.T) { figures(400, 1) }
