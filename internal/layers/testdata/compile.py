"""Compile every Python file and every cell in Python below a folder; see python_test.go."""
import ast
import json
import os
import sys

top, count = sys.argv[1], 0


def look(name, text):
    global count
    tree = ast.parse(text, name)  # an error names file and line
    count += 1
    if "python/certspec" in name:
        for part in ast.walk(tree):
            if isinstance(part, ast.FunctionDef) and part.end_lineno - part.lineno >= 40:
                sys.exit(f"{name}:{part.lineno}: {part.name} has more than 40 lines")


for folder, folders, files in os.walk(top):
    folders[:] = [f for f in folders if not f.startswith(".") and f not in ("out", "bin", "env", "node_modules")]
    for file in files:
        name = os.path.join(folder, file)
        if file.endswith(".py"):
            with open(name, encoding="utf-8") as opened:
                look(name, opened.read())
        elif file.endswith(".ipynb") and folder.endswith("python"):
            with open(name, encoding="utf-8") as opened:
                cells = json.load(opened)["cells"]
            for cell in cells:
                if cell["cell_type"] == "code":
                    look(f"{name} {cell['id']}", "".join(cell["source"]))
print(count, "files compile")
