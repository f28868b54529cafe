// Command kubelet-flags prints the command-line flags of the kubelet that it is built with.
//
// The output is one JSON object by the names of the flags. It holds every flag that
// cmd/kubelet/app.NewKubeletCommand defines: the kubelet's own, those that set fields of
// KubeletConfiguration, the global ones, and --help.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register" // as cmd/kubelet does
	"k8s.io/kubernetes/cmd/kubelet/app/options"
)

type flag struct {
	Type       string  `json:"type"`
	Default    string  `json:"default"`
	NoOption   *string `json:"noOption,omitempty"`
	Shorthand  string  `json:"shorthand,omitempty"`
	Deprecated bool    `json:"deprecated,omitempty"`
	Hidden     bool    `json:"hidden,omitempty"`
}

func main() {
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	config, err := options.NewKubeletConfiguration()
	if err != nil {
		log.Fatal(err)
	}
	options.NewKubeletFlags().AddFlags(flags)
	options.AddKubeletConfigFlags(flags, config)
	options.AddGlobalFlags(flags)
	flags.BoolP("help", "h", false, "help for kubelet")

	all := map[string]flag{}
	flags.VisitAll(func(each *pflag.Flag) {
		found := flag{
			Type:       each.Value.Type(),
			Default:    each.DefValue,
			Shorthand:  each.Shorthand,
			Deprecated: each.Deprecated != "",
			Hidden:     each.Hidden,
		}
		if each.NoOptDefVal != "" {
			found.NoOption = &each.NoOptDefVal
		}
		all[each.Name] = found
	})
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(all); err != nil {
		log.Fatal(err)
	}
}
