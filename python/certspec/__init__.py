"""Certify image classifiers from Python, by the program certspec.

Every number is the program's: this package hands it images and a model, and reads what it wrote.

>>> import certspec
>>> certspec.program().endswith("certspec")
True
"""
from ._certify import certify, state_digest
from ._export import export_onnx
from ._program import CertspecError, program
from ._read import Ledger, read_ledger, report

__version__ = "0.1.0.dev0"
__all__ = ["CertspecError", "Ledger", "certify", "export_onnx", "program", "read_ledger", "report", "state_digest"]
