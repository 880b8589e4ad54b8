package printable

import "testing"

func TestDataSource(t *testing.T) {
	for name, want := range map[string]string{
		"folder:/home/me/pics[resize=256,count=100]": "folder:pics[resize=256,count=100]",
		"folder:/home/me/run[1]/[count=3]":           "folder:run[1]/[count=3]",
		"folder:data/pics":                           "folder:data/pics",
		"npy:/x/fog.npy,/x/labels.npy,severity=3":    "npy:fog.npy,labels.npy,severity=3",
		"npz:/x/a.npz[images=a]":                     "npz:a.npz[images=a]",
		"fashionmnist/test[count=500]":               "fashionmnist/test[count=500]",
		"":                                           "",
	} {
		if got := DataSource(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestDataName(t *testing.T) {
	for name, want := range map[string]string{
		"folder:/home/me/pics[resize=256,filter=bilinear,count=100]": "pics",
		"folder:/home/me/run[1]/[count=3]":                           "run[1]",
		"folder:/data/imagenet/val":                                  "imagenet/val",
		"folder:pics.tar.gz/train":                                   "pics.tar.gz/train",
		`folder:C:\\Users\\me\\pics`:                                 "pics",
		"npy:/x/fog.npy,/x/labels.npy,severity=3,classes=cifar10":    "fog, severity 3",
		"npy:images.npy,labels.npy":                                  "images",
		"npz:/x/pathmnist.npz[images=a,labels=b][count=2]":           "pathmnist",
		"npz:/x/pathmnist.npz":                                       "pathmnist",
		"fashionmnist/test[count=500]":                               "fashionmnist/test",
		"synthetic/test[count=5,corrupt=fog:3]":                      "synthetic/test[corrupt=fog:3]",
		"noise:uniform,28x28x1,n=50":                                 "noise:uniform,28x28x1,n=50",
		"":                                                           "",
	} {
		if got := DataName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
