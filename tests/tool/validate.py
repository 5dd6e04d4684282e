# SPDX-License-Identifier: MIT
# validate.py [--open KEY]... SCHEMA FILE...: checks that each JSON document of the files conforms to the schema (JSON
# Schema, draft 2020-12), and that the schema is narrow: it must refuse every changed document. Documents follow each
# other in a file. Objects that are the value of a KEY, or elements of its array, may have any further members; '' is the
# document itself. Only members that the schema has are changed in these. Ends with 77 where jsonschema is not installed.
import argparse
import copy
import json
import sys

try:
    import jsonschema
except ImportError:
    sys.exit(77)

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


def check_narrow(validator, document, known, open_keys):
    """Asserts that the schema refuses every change of the document."""
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--open", action="append", default=[])
    parser.add_argument("schema")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    with open(arguments.schema, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    known = keys_of(schema)
    for path in arguments.files:
        with open(path, encoding="utf-8") as file:
            found = list(documents(file.read()))
        assert found, f"{path}: no document"
        for document in found:
            try:
                validator.validate(document)
                check_narrow(validator, document, known, arguments.open)
            except (AssertionError, jsonschema.ValidationError) as error:
                sys.exit(f"{path}: not as {arguments.schema} describes it: {error}")


main()
