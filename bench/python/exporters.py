"""Export ten families of networks, of random weights, by both exporters of PyTorch: a line of JSON for each."""

import json
import os
import sys
import warnings

import onnx
import torch
import torchvision
from torchvision import models

warnings.filterwarnings("ignore")
folder, side = sys.argv[1], int(sys.argv[2])

FAMILIES = {
    "ResNet": "resnet18",
    "DenseNet": "densenet121",
    "SqueezeNet": "squeezenet1_1",
    "RegNet": "regnet_y_400mf",
    "VGG": "vgg11",
    "MobileNetV3": "mobilenet_v3_small",
    "EfficientNet": "efficientnet_b0",
    "ShuffleNetV2": "shufflenet_v2_x0_5",
    "ViT": "vit_ti_16",
    "ConvNeXt": "convnext_tiny",
}


def network(name):
    torch.manual_seed(1)
    if name == "vit_ti_16":
        return models.VisionTransformer(side, 16, 12, 3, 192, 768, num_classes=10)
    return models.get_model(name, weights=None, num_classes=10)


def say(**line):
    print(json.dumps(line), file=out, flush=True)


out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # exporters print, too
say(versions=f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}, onnx {onnx.__version__}")
c, y, x = torch.meshgrid(torch.arange(3), torch.arange(side), torch.arange(side), indexing="ij")
image = (((7 * c + 3 * y + 5 * x) % 256).float() / 255)[None]
for family, name in FAMILIES.items():
    net = network(name).eval()
    with torch.no_grad():
        logits = net(image)[0].tolist()
    two = image.repeat(2, 1, 1, 1)
    for exporter in "dynamo", "TorchScript":
        file = os.path.join(folder, f"{name}-{exporter}.onnx")
        line = {"family": family, "network": name, "exporter": exporter, "file": file, "logits": logits}
        try:
            if exporter == "dynamo":
                torch.onnx.export(net, (two,), file, dynamo=True, external_data=False, verbose=False,
                                  dynamic_shapes=({0: torch.export.Dim("batch")},))
            else:
                torch.onnx.export(net, (two,), file, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
            line["opset"] = onnx.load(file).opset_import[0].version
        except Exception as error:  # what an exporter cannot do is a row of the table
            line["error"] = str(error).strip().splitlines()[0][:200]
        say(**line)
