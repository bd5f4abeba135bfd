package diagnose

import ("testing";"os";"path/filepath";"fmt";"strings")

func TestZZ(t *testing.T) {
	for _, pat := range strings.Fields(os.Getenv("ZZ")) {
		fs, _ := filepath.Glob(pat)
		for _, f := range fs {
			b, _ := os.ReadFile(f)
			fmt.Println("==", filepath.Base(f))
			for _, x := range Explain(b) { fmt.Printf("  %d %s fatal=%v\n     %s\n", x.Line, x.Kind, x.Fatal, x) }
		}
	}
}
