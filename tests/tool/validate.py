# SPDX-License-Identifier: MIT
# validate.py SCHEMA FILE: checks that each JSON document of the file conforms to the schema (JSON Schema, draft
# 2020-12), and that the schema is narrow: it must refuse every changed document. Documents follow each other in the
# file.
import copy
import json
import sys

import jsonschema

ENUMERATIONS = {"arch", "os", "state", "kind", "method"}


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


def changes(of):
    """What no object of ours may become."""
    yield {"surprise": 1}
    for key, value in of.items():
        yield {key: 5 if isinstance(value, (str, bool)) else "text"}
        if key in ENUMERATIONS:
            yield {key: "new"}


def main(schema_path, path):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    with open(path, encoding="utf-8") as file:
        found = list(documents(file.read()))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert found, "no document"
    for document in found:
        validator.validate(document)
        short = shortened(document)
        for at in objects(short):
            broken = copy.deepcopy(short)
            inner = broken
            for key in at:
                inner = inner[key]
            original = dict(inner)
            for change in changes(original):
                inner.update(change)
                assert not validator.is_valid(broken), (at, change)
                inner.clear()
                inner.update(original)


main(*sys.argv[1:])
