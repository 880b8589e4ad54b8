"""python -m certspec: the program, with the library of the package onnxruntime."""
import os
import sys

from ._program import environment, program

if __name__ == "__main__":
    os.execve(program(), ["certspec", *sys.argv[1:]], environment())
