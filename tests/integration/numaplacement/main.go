// Decodes the attributes numaplacement of a NodeResourceTopology as NodeResourceTopologyMatch does.
//
// Standard input has the content of the object and the containers that the scheduler knows; standard
// output gets the NUMA node of each.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/k8stopologyawareschedwg/numaplacement"
)

type attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type input struct {
	Attributes []attribute `json:"attributes"`
	Zones      []struct {
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes"`
	} `json:"zones"`
	Containers [][3]string `json:"containers"`
}

func find(attributes []attribute, name string) (string, bool) {
	for _, each := range attributes {
		if each.Name == name {
			return each.Value, true
		}
	}
	return "", false
}

func main() {
	log.SetFlags(0)
	var given input
	must(json.NewDecoder(os.Stdin).Decode(&given))
	metadata, ok := find(given.Attributes, numaplacement.AttributeMetadata)
	if !ok {
		log.Fatal("no metadata")
	}
	payload := numaplacement.Payload{Vectors: map[int]string{}}
	must(numaplacement.UnpackMetadataInto(&payload, metadata))
	for _, zone := range given.Zones {
		if vector, ok := find(zone.Attributes, numaplacement.AttributeVector); ok {
			number, err := strconv.Atoi(strings.TrimPrefix(zone.Name, "node-"))
			must(err)
			payload.Vectors[number] = vector
		}
	}
	decoder, err := numaplacement.NewDecoder(payload)
	must(err)
	for _, each := range given.Containers {
		decoder.DecodeContainer(each[0], each[1], each[2])
	}
	info, err := decoder.Result()
	must(err)
	found := map[string]int{}
	for _, each := range given.Containers {
		node, err := info.NUMAAffinityContainer(each[0], each[1], each[2])
		must(err)
		found[strings.Join(each[:], "/")] = node
	}
	must(json.NewEncoder(os.Stdout).Encode(found))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
