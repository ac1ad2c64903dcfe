"""Texts of this repository, by kind: text that users see, docs, docstrings, comments, names.

Code is not prose: fenced and inline code, block quotes and passages in double quotes of Markdown
are left out, and so are strings without a space.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tomllib import loads

from markdown_it import MarkdownIt

HELP = "help"  # of a command or an option
PAGE = "page"  # of the web interface
PARSER = MarkdownIt("commonmark").enable("table")
QUOTED = {"pattern", "example"}  # keys of TOML tables with engines' own messages
VERB = re.compile(r"\.?(command|group)$")
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|PRAGMA)\b")
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
C_TOKENS = re.compile(
    r"(?P<line>//[/!]?[^\n]*)|(?P<block>/\*.*?\*/)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.|\\\n)*\"|`(?:[^`\\]|\\.)*`)|'(?:[^'\\\n]|\\.)'",
    re.DOTALL,
)
JSX = re.compile(r"(?<![=<-])>([^<>{}=;]*[A-Za-z]{2}[^<>{}=;]*)(?=[<{])")
HOLE = re.compile(r"\$?\{[^{}]*\}")


@dataclass(frozen=True)
class Passage:
    """A piece of text at a line of a file; `part` tells help and pages from other text."""

    kind: str
    file: str
    line: int
    text: str
    part: str = ""


def passages(file: str, text: str) -> Iterator[Passage]:
    """Yield the passages of one file."""
    suffix = Path(file).suffix
    if suffix == ".py":
        yield from _python(file, text)
    elif suffix == ".md":
        yield from _markdown(file, text)
    elif suffix == ".toml" and file.startswith("python/venturi/"):
        yield from _toml(file, text)
    elif suffix in (".ts", ".tsx", ".rs", ".java"):
        yield from _c_like(file, text)


def _markdown(file: str, text: str) -> Iterator[Passage]:
    quotes = 0
    for token in PARSER.parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "inline" and not quotes and token.map:
            breaks = {"softbreak": "\n", "hardbreak": "\n", "code_inline": "N"}
            said = "".join(
                child.content if child.type == "text" else breaks.get(child.type, "")
                for child in token.children or ()
            )
            yield Passage("docs", file, token.map[0] + 1, re.sub(r'"[^"]*"', "N", said))


def _toml(file: str, text: str) -> Iterator[Passage]:
    def strings(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, inner in value.items():
                if key not in QUOTED:
                    yield from strings(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from strings(inner)

    for said in strings(loads(text)):
        if " " in said:
            at = text.find(said.split("\n")[0])
            yield Passage("text", file, text.count("\n", 0, max(at, 0)) + 1, HOLE.sub("N", said))
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            yield Passage("comment", file, number, line.lstrip("# "))


def _literal(node: ast.expr) -> str | None:
    """The text of a string or an f-string, its values as N."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (str(p.value) if isinstance(p, ast.Constant) else "N" for p in node.values)
        return "".join(parts)
    return None


class _Reader:
    """Collects the passages of a Python module, and where its strings are."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.found: list[Passage] = []
        self.strings: list[tuple[int, int, int, int]] = []
        self._seen = file.startswith("python/venturi/")
        self._names: set[str] = set()
        # Not a visitor: this takes half the time.
        stack: list[tuple[ast.AST, str]] = [(tree, "")]
        while stack:
            node, part = stack.pop()
            if isinstance(node, ast.keyword) and node.arg == "help":
                part = HELP
            for child in self._read(node, part):
                stack.append((child, part))

    def _read(self, node: ast.AST, part: str) -> Iterator[ast.AST]:
        """Collect what a node says; yield the nodes below it."""
        kind = type(node)
        if kind is ast.Name:
            if isinstance(node.ctx, ast.Store):  # type: ignore[attr-defined]
                self._name(node.id, node.lineno)  # type: ignore[attr-defined]
            return
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                self._string(node, part)
            return
        match node:
            case ast.Expr(value=ast.Constant(value=str(text)) as value):  # about the line above
                self._add("docstring", value.lineno, text)
                self._span(value)
                return
        if isinstance(node, ast.JoinedStr):
            self._string(node, part)
            yield from (p.value for p in node.values if isinstance(p, ast.FormattedValue))
            return
        if isinstance(node, ast.arg):
            self._name(node.arg, node.lineno)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            self._docstring(node)
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                yield from (inner for inner in value if isinstance(inner, ast.AST))
            elif isinstance(value, ast.AST):
                yield value

    def _add(self, kind: str, line: int, text: str, part: str = "") -> None:
        self.found.append(Passage(kind, self.file, line, text, part))

    def _name(self, name: str, line: int) -> None:
        if len(name) > 3 and name not in self._names:
            self._names.add(name)
            self._add("name", line, " ".join(WORD.findall(name)).lower())

    def _docstring(
        self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    ) -> None:
        if not isinstance(node, ast.Module):
            self._name(node.name, node.lineno)
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str(text)) as value), *_]:
                verb = any(
                    VERB.search(ast.unparse(d.func if isinstance(d, ast.Call) else d))
                    for d in getattr(node, "decorator_list", ())
                )
                self._add(*("text" if verb else "docstring", value.lineno, text), HELP * verb)
                self._span(value)
                value.value = 0  # not seen again below

    def _span(self, node: ast.expr) -> None:
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        self.strings.append((node.lineno, node.col_offset, *end))

    def _string(self, node: ast.expr, part: str) -> None:
        self._span(node)
        text = _literal(node) or ""
        if self._seen and " " in text.strip() and not SQL.match(text):
            self._add("text", node.lineno, text, part)


def _python(file: str, text: str) -> Iterator[Passage]:
    reader = _Reader(file, ast.parse(text))
    yield from reader.found
    inside: dict[int, list[tuple[int, int]]] = {}
    for first, begin, last, end in reader.strings:
        for line in range(first, last + 1):
            span = (begin if line == first else 0, end if line == last else 1 << 30)
            inside.setdefault(line, []).append(span)
    for number, line in enumerate(text.splitlines(), 1):
        at = line.find("#")
        while at >= 0:
            byte = len(line[:at].encode())  # as `ast` counts
            if not any(begin <= byte < end for begin, end in inside.get(number, ())):
                yield Passage("comment", file, number, line[at:].lstrip("# "))
                break
            at = line.find("#", at + 1)


def _c_like(file: str, text: str) -> Iterator[Passage]:
    """Comments and strings of Rust, TypeScript and Java, and the text between tags of TSX."""
    page = file.startswith("web/src/")
    part = PAGE if page else ""
    seen = page or file.startswith("crates/")
    bare = []  # the file without its comments and strings
    end = 0
    for match in C_TOKENS.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        bare += [text[end : match.start()], "\n" * match[0].count("\n")]
        end = match.end()
        if match["line"] or match["block"]:
            said = re.sub(r"(?m)^\s*(//[/!]?|/?\*+/?) ?|\*/$", "", match[0])
            yield Passage("comment", file, line, said.strip())
        elif match["string"] and seen and " " in match[0].strip('"` '):
            said = re.sub(r"\\\n\s*", "", match[0][1:-1])
            yield Passage("text", file, line, HOLE.sub("N", said), part)
    if file.endswith(".tsx"):
        code = "".join([*bare, text[end:]])
        for match in JSX.finditer(code):
            if (said := match[1].strip()) and " " in said:
                yield Passage("text", file, code.count("\n", 0, match.start(1)) + 1, said, part)
