"""Certify a vision transformer of Hugging Face on a folder of pictures, CLASS/PICTURE.

python certify.py PICTURES MODEL [n]

MODEL is a name or folder of a model; "random" is ViT-S/16 with 1,000 classes and random weights,
"random-32" a small one of 32 pixels. It writes vit.ledger, vit.html, and vit.onnx for the program.
"""
import sys

import certspec
import torch
import transformers

pictures, name = sys.argv[1:3]
n = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
if name.startswith("random"):
    torch.manual_seed(1)
    small = name == "random-32"
    side, wide, deep = (32, 32, 2) if small else (224, 384, 12)
    model = transformers.ViTForImageClassification(transformers.ViTConfig(
        image_size=side, patch_size=8 if small else 16, hidden_size=wide, num_hidden_layers=deep,
        num_attention_heads=wide // 64 or 2, intermediate_size=4 * wide,
        num_labels=10 if small else 1000))
    processor = transformers.ViTImageProcessor(size={"height": side, "width": side})
else:
    model = transformers.AutoModelForImageClassification.from_pretrained(name)
    processor = transformers.AutoImageProcessor.from_pretrained(name)
model.eval()

run = certspec.certify(model, pictures, sigma=0.5, n=n, processor=processor, ledger="vit.ledger",
                       identity=certspec.state_digest(model))
run.report("vit.html", format="html")
print(run.table(), run.verify())

model.image_processor = processor  # its mean and std go on the card of the file
side = processor.size["height"]
print(certspec.export_onnx(model, "vit.onnx", shape=(side, side, 3)))
