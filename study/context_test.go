package study

import "testing"

// Beside, case by case: one thing differs from two numbers that are alike.
func TestBeside(t *testing.T) {
	scratch := Context{What: "acr", Unit: "radius", Set: "C", Sets: []string{"fog-3", "jpeg_compression-3"}, Data: "cifar10",
		Network: "resnet110", Images: 500, Sigma: 0.25, Cap: 0.9528}
	with := func(change func(*Context)) Context {
		c := scratch
		change(&c)
		return c
	}
	for _, c := range []struct {
		name    string
		printed Context
		want    Kinship
		why     string
	}{
		{"all is equal", scratch, Alike, ""},
		{"the cap in its last printed digit", with(func(c *Context) { c.Cap = 0.953 }), Alike, ""},
		{"network", with(func(c *Context) { c.Network = "resnet20" }), SignOnly, "resnet110 for resnet20"},
		{"a network that the paper does not name", with(func(c *Context) { c.Network = "" }), SignOnly,
			"resnet110 for an unknown network"},
		{"cap", with(func(c *Context) { c.Cap = 0.597 }), SignOnly, "radii end at 0.953 for 0.597"},
		{"a printed number without its n", with(func(c *Context) { c.Cap = 0 }), SignOnly, "radii end at 0.953 for unknown"},
		{"σ", with(func(c *Context) { c.Sigma = 0.5 }), SignOnly, "σ = 0.25 for 0.5"},
		{"images", with(func(c *Context) { c.Images = 10000 }), SignOnly, "500 images for 10,000"},
		{"severities", with(func(c *Context) { c.Sets = []string{"fog-1", "fog-3", "fog-5"} }), SignOnly, "2 cells for 3"},
		{"as many other cells", with(func(c *Context) { c.Sets = []string{"fog-5", "jpeg_compression-5"} }), SignOnly, "other cells"},
		{"a largest value by search", with(func(c *Context) { c.Found = "searched" }), SignOnly, "exact for searched"},
		{"two things", with(func(c *Context) { c.Images, c.Network = 350, "resnet50" }), SignOnly,
			"resnet110 for resnet50, 500 images for 350"},
		{"quantity", with(func(c *Context) { c.What = "ca 0.25" }), Apart, "acr in radius for ca 0.25 in radius"},
		{"unit: R² beside a difference of R²", with(func(c *Context) { c.Unit = "difference of R²" }), Apart,
			"acr in radius for acr in difference of R²"},
		{"a single severity beside the mean", with(func(c *Context) { c.Set = "C severity 5" }), Apart, "C for C severity 5"},
		{"another set", with(func(c *Context) { c.Set = "C-bar" }), Apart, "C for C-bar"},
		{"other own images", with(func(c *Context) { c.Data = "fashionmnist" }), Apart, "cifar10 for fashionmnist"},
		{"larger balls", with(func(c *Context) { c.Epsilon = 0.4 }), Apart, "balls of 0 for 0.4"},
	} {
		if got, why := scratch.Beside(c.printed); got != c.want || why != c.why {
			t.Errorf("%s: %d, %q; want %d, %q", c.name, got, why, c.want, c.why)
		}
	}
	part := scratch
	part.Data = "mnist-8k"
	if got, why := part.Beside(with(func(c *Context) { c.Data = "mnist" })); got != SignOnly || why != "a part of mnist" {
		t.Errorf("a part of the test images: %d, %q", got, why)
	}
}
