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

// A card as a table, as notebooks show it.
func ExampleCard_Table() {
	card, err := modelfile.ReadCard("../../notebooks/models/fmnist-cnn-s025")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range card.Table().Rows[:2] {
		fmt.Println(row...)
	}
	// Output:
	// architecture small-cnn for images of 28×28×1
	// parameters 54,778
}
