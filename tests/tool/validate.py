# SPDX-License-Identifier: MIT
# validate.py SCHEMA FILE [KEY...]: checks that each JSON document of the file conforms to the schema (JSON Schema,
# draft 2020-12), and that the schema is narrow: it must refuse every changed document. Documents follow each other in
# the file. Objects that are the value of a KEY, or elements of its array, may have any further members; '' is the
# document itself. Only members that the schema has are changed in these.
import copy
import json
import sys

import jsonschema

ENUMERATIONS = {"arch", "base", "os", "state", "kind", "method"}


def documents(text):
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        document, at = json.JSONDecoder().raw_decode(text, at)
        yield document


def shortened(value):
    """One element of each array."""
    if isinstance(value, list):
        return [shortened(element) for element in value[:1]]
    if isinstance(value, dict):
        return {key: shortened(element) for key, element in value.items()}
    return value


def objects(value, path=()):
    """The path to each object."""
    if isinstance(value, dict):
        yield path
    for key, element in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(element, (dict, list)):
            yield from objects(element, path + (key,))


def key_of(path):
    """The last key on a path to an object; '' for the document."""
    return next((key for key in reversed(path) if isinstance(key, str)), "")


def keys_of(schema):
    """All members that a schema describes."""
    if isinstance(schema, list):
        return set().union(*map(keys_of, schema))
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", ())).union(*map(keys_of, schema.values()))


def changes(of, known):
    """What no object of ours may become. `known`: the members to change; None: all, and there are no others."""
    if known is None:
        yield {"surprise": 1}
    for key, value in of.items():
        if known is not None and key not in known:
            continue
        yield {key: None if known is not None else 5 if isinstance(value, (str, bool)) else "text"}
        if key in ENUMERATIONS:
            yield {key: "new"}


def main(schema_path, path, *open_keys):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    with open(path, encoding="utf-8") as file:
        found = list(documents(file.read()))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert found, "no document"
    known = keys_of(schema)
    for document in found:
        validator.validate(document)
        short = shortened(document)
        for at in objects(short):
            if open_keys and any(isinstance(key, str) and key not in known for key in at):
                continue
            broken = copy.deepcopy(short)
            inner = broken
            for key in at:
                inner = inner[key]
            original = dict(inner)
            for change in changes(original, known if key_of(at) in open_keys else None):
                inner.update(change)
                assert not validator.is_valid(broken), (at, change)
                inner.clear()
                inner.update(original)


main(*sys.argv[1:])
