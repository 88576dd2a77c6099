"""Checks a SARIF file of mx-sim against SARIF 2.1.0: check_sarif.py FILE DOCS [ROOT]. Files with
relative URIs must be below ROOT, and links must name sections of pages in DOCS. Prints each result.

With the package jsonschema, SARIF_SCHEMA names the published schema to check as well."""

import json
import os
import pathlib
import re
import sys
import urllib.parse

data = json.loads(pathlib.Path(sys.argv[1]).read_text())
docs = pathlib.Path(sys.argv[2])
root = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else ".")
if "SARIF_SCHEMA" in os.environ:
    import jsonschema
    schema = json.loads(pathlib.Path(os.environ["SARIF_SCHEMA"]).read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator(schema, format_checker=jsonschema.FormatChecker()).validate(data)


def keys(value, required, optional=()):
    """The sets of properties are those of the specification that mx-sim writes."""
    assert set(required) <= set(value) <= {*required, *optional}, (sorted(value), required)
    return value


def text(message):
    assert keys(message, ["text"])["text"].strip(), message
    return message["text"]


def place(location):
    physical = keys(location["physicalLocation"], ["artifactLocation"], ["region"])
    uri = keys(physical["artifactLocation"], ["uri"])["uri"]
    parts = urllib.parse.urlsplit(uri)
    assert parts.scheme in ("", "file") and " " not in uri, uri
    lines = None
    if not parts.scheme:
        path = root / urllib.parse.unquote(uri)
        assert not uri.startswith("/") and path.is_file(), uri
        lines = path.read_text().split("\n")
    if "region" not in physical:
        return uri
    region = keys(physical["region"], ["startLine"], ["startColumn"])
    assert all(type(n) is int and n >= 1 for n in region.values()), region
    assert lines is None or region["startLine"] <= len(lines), region
    return ":".join([uri, *(str(n) for n in region.values())])


def check_link(link):
    name, _, anchor = link.rpartition("/")[2].partition("#")
    titles = re.findall(r"^#+ (.+)$", (docs / name).read_text(), re.M)
    assert not anchor or anchor in {t.lower().replace(" ", "-") for t in titles}, link


keys(data, ["$schema", "version", "runs"])
assert data["version"] == "2.1.0"
(run,) = data["runs"]
keys(run, ["tool", "results", "columnKind", "invocations"])
driver = keys(keys(run["tool"], ["driver"])["driver"], ["name", "version", "rules"])
rules = driver["rules"]
for rule in rules:
    keys(rule, ["id", "shortDescription", "help"], ["helpUri"])
    text(rule["shortDescription"])
    check_link(re.fullmatch(r"Remedy: .*\. See (.*)\.", text(rule["help"]))[1])
    assert urllib.parse.urlsplit(rule.get("helpUri", "https://h/")).scheme, rule
assert len({rule["id"] for rule in rules}) == len(rules) >= 20
(invocation,) = run["invocations"]
for notification in invocation.get("toolExecutionNotifications", ()):
    print("error:", text(notification["message"]))
assert invocation["executionSuccessful"] == ("toolExecutionNotifications" not in invocation)
prints = set()
for result in run["results"]:
    keys(result, ["ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "occurrenceCount",
                  "partialFingerprints", "properties"])
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in ("error", "warning") and result["occurrenceCount"] >= 1
    assert ". Remedy: " in text(result["message"])
    check_link(result["properties"]["link"])
    (location,) = result["locations"]
    (logical,) = location["logicalLocations"]
    print(f"{place(location)}: {result['level']}: {result['ruleId']} in {logical['fullyQualifiedName']}, "
          f"{result['occurrenceCount']} times")
    for related in result["relatedLocations"]:
        print(f"  {place(related)}: {text(related['message'])}")
    (value,) = result["partialFingerprints"].values()
    assert value not in prints, value
    prints.add(value)
    print("  fingerprint", value)
