"""Answers of sallyport-host's HTTP API, held against its own description."""
import json
import pathlib
import re

DOCUMENT = json.loads((pathlib.Path(__file__).parents[2] /
                       "sandbox-host/api/openapi.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "integer": int,
         "number": (int, float), "boolean": bool, "null": type(None)}


def resolve(thing):
    """What a $ref leads to."""
    while "$ref" in thing:
        where = thing["$ref"].removeprefix("#/").split("/")
        thing = DOCUMENT
        for name in where:
            thing = thing[name]
    return thing


def faults(value, schema, where="body"):
    """What of a value is not as a schema says."""
    schema = resolve(schema)
    kinds = schema.get("type", list(TYPES))
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(isinstance(value, TYPES[kind]) and
               (kind in ("boolean",) or not isinstance(value, bool))
               for kind in kinds):
        return [f"{where}: no {'/'.join(kinds)}: {value!r}"]
    found = []
    if value not in schema.get("enum", [value]):
        found.append(f"{where}: {value!r} is none of {schema['enum']}")
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        found.append(f"{where}: too short")
    if isinstance(value, dict):
        found += [f"{where}: no {name}" for name in schema.get("required", [])
                  if name not in value]
        for name, item in value.items():
            known = schema.get("properties", {}).get(
                name, schema.get("additionalProperties"))
            if isinstance(known, dict):
                found += faults(item, known, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += faults(item, schema["items"], f"{where}[{i}]")
    return found


def find(method, path):
    """The operation for a path without its query, or None."""
    for pattern, operations in DOCUMENT["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", pattern), path):
            return operations.get(method.lower())
    return None


def check(method, path, answer):
    """Is the answer (api.Answer) one that the document knows?"""
    operation = find(method, path.partition("?")[0].removeprefix("/v1"))
    assert operation, f"{method} {path} is not described"
    assert str(answer.status) in operation["responses"], (path, answer)
    content = resolve(operation["responses"][str(answer.status)]).get(
        "content", {})
    kind = answer.headers.get_content_type() if answer.body else None
    assert kind is None or kind in content, (path, kind, answer)
    if kind == "application/json":
        wrong = faults(answer.json, content[kind].get("schema", {}))
        assert not wrong, (path, wrong, answer)
