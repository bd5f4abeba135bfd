package main

import (
	"context"
	"fmt"
	"os"

	"sweep/internal/linux"
)

func main() {
	_, err := linux.Build(context.Background(), linux.BuildConfig{Dir: os.Args[1], Log: func(s string) { fmt.Println(s) }})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
