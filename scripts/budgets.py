"""Name files over 600 lines, Python functions over 80 and folders of more than 20 source files.

Clippy counts the lines of Rust's functions, Biome those of TypeScript.
"""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

LIST = "git ls-files --cached --others --exclude-standard *.py *.rs *.ts *.tsx *.java"
names = subprocess.check_output(LIST.split(), text=True).split()
files = [file for file in map(Path, names) if file.exists() and "generated" not in file.parts]
folders = Counter(str(file.parent) for file in files if file.name != "__init__.py")
over = [f"{folder}: {count} files" for folder, count in folders.items() if count > 20]
for file in files:
    text = file.read_text(encoding="utf-8")
    if (lines := text.count("\n")) > 600:
        over.append(f"{file}: {lines} lines")
    for node in ast.walk(ast.parse(text)) if file.suffix == ".py" and lines > 80 else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > 80:
                over.append(f"{file}:{node.lineno}: {node.name} has {length} lines")
sys.exit("\n".join(over) or None)
