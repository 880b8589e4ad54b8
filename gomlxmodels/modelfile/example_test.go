package modelfile_test

import (
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
)

// A card says how a network was made.
func ExampleReadCard() {
	card, err := modelfile.ReadCard("../../notebooks/models/fmnist-cnn-s025")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(card.Architecture.Name, card.Recipe.Noise(), card.Recipe.Epochs)
	// Output: small-cnn 0.25 10
}
