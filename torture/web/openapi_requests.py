"""Requests generated from the API's document: some valid, most not.

Values come from its own examples, from keys and ids of the repository, and from harmful texts,
numbers and structures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from torture.mutation import NUMBERS, TEXTS, VALUES, changed_bytes, changed_json
from torture.record.archive_parts import Archive, changed

METHODS = ("GET", "GET", "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "X")
KEYS = (
    "workload",
    "engine",
    "state",
    "elapsed_s",
    "started_at",
    "hosts",
    "input_bytes",
    "disk",
    "net",
    "maps",
    "configuration.disk",
    "id",
    "scale",
    "provenance",
    "cost",
    "repetition",
    "nix",
)
OPERATORS = ("=", "<", "<=", ">", ">=", "!=", "~", "==", "", "<>", "=~")
HEADERS = (
    ("Accept", "application/xml"),
    ("Accept-Encoding", "gzip, br;q=0, *"),
    ("Range", "bytes=0-"),
    ("Range", "bytes=-1,5-3,9-"),
    ("If-None-Match", '"x", W/"y"'),
    ("Origin", "http://evil.test"),
    ("Sec-Fetch-Site", "cross-site"),
    ("X-Forwarded-For", "127.0.0.1"),
    ("Host", "evil.test"),
    ("Host", "localhost:99999"),
    ("Host", "["),
    ("Host", ""),
    ("X-Forwarded-Prefix", "/a"),
    ("Cookie", "venturi_session=write.99999999999.aaaa"),
    ("Cookie", "a=" + "b" * 5_000),
    ("Content-Type", "text/plain"),
    ("Content-Type", "application/json; charset=utf-16"),
    ("Content-Type", "multipart/form-data"),
    ("Content-Encoding", "gzip"),
    ("X-" + "h" * 300, "x"),
    ("If-Modified-Since", "never"),
    ("Expect", "100-continue"),
    ("Accept-Language", "\xe9"),
    ("Sec-Fetch-Site", "same-origin"),
    ("Transfer-Encoding", "identity"),
    ("Upgrade", "h2c"),
)
PATHS = (
    "/",
    "/api",
    "/api/",
    "/api/nix",
    "/api//trials",
    "/api/../api/trials",
    "/trials/%00",
    "/api/trials/%2e%2e/series",
    "/assets/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/api/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/favicon.ico",
    "/api/trials/",
    "/index.html",
    "/cost",
    "/trials/t0",
    "/api/advise",
    "/advise",
    "/%ff%fe",
    "/api/%F0%9F%98%80",
)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`target` is the path and query as sent, `form` the pattern behind it."""

    method: str
    target: str
    form: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class RequestMaker:
    """Makes requests of `document`; `ids` and `names` are of trials, artifacts, views."""

    def __init__(
        self, document: Mapping[str, Any], archive: Archive, known: Mapping[str, Sequence[str]]
    ) -> None:
        self._document, self._archive, self._known = document, archive, known
        self._operations = [
            (method, path, operation)
            for path, those in document["paths"].items()
            for method, operation in those.items()
        ]
        self._changes = [each for each in self._operations if each[0] != "get"]

    def make(self, chance: Random) -> HttpRequest:
        """Any request, changes more often than their share."""
        if chance.random() < 0.04:
            path = chance.choice(PATHS)
            return HttpRequest(chance.choice(METHODS), path, "no operation", _headers(chance))
        some = self._changes if chance.random() < 0.25 else self._operations
        method, path, operation = chance.choice(some)
        names: dict[str, str] = {}
        query: list[tuple[str, str]] = []
        for parameter in operation.get("parameters", ()):
            name, schema = parameter["name"], parameter["schema"]
            if parameter["in"] == "path":
                names[name] = self._name(chance, name)
            elif parameter["required"] or chance.random() < 0.4:
                query += [(name, each) for each in self._values(chance, name, schema)]
        if chance.random() < 0.03:
            query.append((chance.choice(TEXTS[:24]), chance.choice(TEXTS[:24])))
        if query and chance.random() < 0.03:
            query *= chance.choice((2, 100))
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", value)
        target = path + ("?" + urlencode(query, errors="surrogatepass") if query else "")
        kinds = list(operation.get("requestBody", {}).get("content", ()))
        made = HttpRequest(method.upper(), target, f"{method} {path}", _headers(chance))
        if kinds:
            made = self._with_body(chance, made, kinds[0], operation)
        if chance.random() < 0.04:
            made = replace(made, method=chance.choice(METHODS))
        if chance.random() < 0.02:
            raw = changed_bytes(chance, made.target.encode())[:40_000]
            made = replace(made, target="/" + quote(raw, safe="/?&=%+"))
        return made

    def _name(self, chance: Random, name: str) -> str:
        drawn = chance.random()
        if drawn < 0.7 and name in self._known:
            return quote(chance.choice(self._known[name]), safe="")
        text = chance.choice(TEXTS[:24]) if drawn < 0.97 else "x" * 30_000
        return quote(text.encode("utf-8", "surrogatepass"), safe="" if drawn < 0.9 else "/.")

    def _values(self, chance: Random, name: str, schema: Mapping[str, Any]) -> list[str]:
        """The values of one parameter: of a list any number."""
        plain = next((s for s in schema.get("anyOf", ()) if s.get("type") != "null"), schema)
        several = plain.get("type") == "array"
        examples = schema.get("examples", [])
        if chance.random() < 0.3 and examples:
            example = chance.choice(examples)
            return list(map(str, example if isinstance(example, list) else [example]))
        n = chance.choice((1, 1, 2, 3, 60)) if several else 1
        item = plain.get("items", {}) if several else plain
        return [self._value(chance, name, item) for _ in range(n)]

    def _value(self, chance: Random, name: str, schema: Mapping[str, Any]) -> str:
        drawn = chance.random()
        if drawn < 0.12:
            text = chance.choice(TEXTS)
            return text[:20_000].encode("utf-8", "replace").decode()
        if drawn < 0.2:
            return chance.choice(NUMBERS).decode()
        if drawn < 0.25:
            return json.dumps(chance.choice(VALUES[:27]), default=str)[:2_000]
        if "enum" in schema:
            return str(chance.choice(schema["enum"]))
        kind = schema.get("type")
        if kind == "boolean":
            return chance.choice(("true", "false", "1", "0", "yes"))
        if kind in ("integer", "number"):
            low, high = schema.get("minimum", -10), schema.get("maximum", 100_000)
            some = (low, high, chance.uniform(float(low), float(high)), low - 1, high + 1)
            value = chance.choice(some)
            return str(int(value)) if kind == "integer" else f"{value:g}"
        if name in ("where", "group"):
            operator = chance.choice(OPERATORS if drawn > 0.85 else ("=", "=", ">", "<="))
            value = chance.choice((*self._known["values"], "5", "", *TEXTS[:12]))
            return f"{chance.choice(KEYS)}{operator}{value}"
        if name in ("by", "key", "ignore", "sort", "columns", "x"):
            return chance.choice(KEYS)
        return chance.choice((*self._known["values"], "1 TB", "100 GB", "10", "r3.2xlarge:3"))

    def _with_body(
        self, chance: Random, made: HttpRequest, kind: str, operation: Mapping[str, Any]
    ) -> HttpRequest:
        headers = made.headers
        if chance.random() < 0.95:
            headers += (("Content-Type", kind),)
        if kind == "application/zip":
            return replace(made, headers=headers, body=changed(chance, self._archive))
        reference = operation["requestBody"]["content"][kind]["schema"].get("$ref", "")
        schema = self._document["components"]["schemas"].get(reference.rpartition("/")[2], {})
        value = {
            name: chance.choice(each["examples"]) if each.get("examples") else "Ada"
            for name, each in schema.get("properties", {}).items()
        }
        drawn = chance.random()
        if "name" in value and drawn < 0.5:
            value["name"] = f"view {chance.randrange(50)}"
        body = json.dumps(value).encode()
        if drawn > 0.4:
            body = changed_json(chance, value) if value else b"{"
        if drawn > 0.9:
            body = changed_bytes(chance, body)
        return replace(made, headers=headers, body=body[:2_000_000])


def _headers(chance: Random) -> tuple[tuple[str, str], ...]:
    if chance.random() < 0.8:
        return ()
    return tuple(chance.choice(HEADERS) for _ in range(chance.choice((1, 1, 2, 3))))
