package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/internal/linux"
)

func newImageCommand() *cobra.Command {
	var cfg linux.BuildConfig
	c := &cobra.Command{
		Use:   "image",
		Short: "Build the guest's image; ./prepare.sh calls it",
		Long: `Build the image of the guest linux-dpdk (a kernel, and an initramfs with
testpmd in it) from packages of the distribution, unless it is there and made of
the same files. Nothing is installed. The same packages give the same bytes;
manifest.json, in the build folder, says which they were.

The kernel is the one that the image has, and for the first image the newest in
apt's lists.`,
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Dir == "" {
				dir, err := buildFolder()
				if err != nil {
					return withExit(exitFailed, err)
				}
				cfg.Dir = dir
			}
			cfg.Log = func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
			if _, err := linux.Build(cmd.Context(), cfg); err != nil {
				return withExit(exitFailed, err)
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&cfg.Dir, "build", "", "build folder (default: where this program is)")
	fl.BoolVar(&cfg.Update, "update", false, "take the newest kernel in apt's lists, where the image has another")
	fl.StringVar(&cfg.Kernel, "kernel", "", "package to take the kernel from (default: the distribution's kernel for virtual machines)")
	return c
}
