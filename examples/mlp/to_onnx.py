"""Write the network of train.py as an ONNX file.

    python to_onnx.py WEIGHTS.npz OUT.onnx
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = np.load(sys.argv[1])
graph = helper.make_graph(
    [
        helper.make_node("Flatten", ["image"], ["x"]),
        helper.make_node("Gemm", ["x", "w1", "b1"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["y"]),
        helper.make_node("Gemm", ["y", "w2", "b2"], ["logits"]),
    ],
    "mlp",
    [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", *map(int, weights["shape"])])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
    [numpy_helper.from_array(weights[name], name) for name in ("w1", "b1", "w2", "b2")],
)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[2])
