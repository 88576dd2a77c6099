"""Checks a SARIF file of mx-sim against SARIF 2.1.0: check_sarif.py FILE DOCS. Files with relative URIs
must exist, and links must name sections of pages in DOCS. Prints the results.

With the package jsonschema, SARIF_SCHEMA names the published schema to check as well."""

import json
import os
import pathlib
import re
import sys
import urllib.parse

data = json.loads(pathlib.Path(sys.argv[1]).read_text())
docs = pathlib.Path(sys.argv[2])
if "SARIF_SCHEMA" in os.environ:
    import jsonschema
    schema = json.loads(pathlib.Path(os.environ["SARIF_SCHEMA"]).read_text())
    validator = jsonschema.validators.validator_for(schema)
    validator(schema, format_checker=jsonschema.FormatChecker()).validate(data)


def place(location):
    physical = location["physicalLocation"]
    uri, region = physical["artifactLocation"]["uri"], physical.get("region", {})
    assert region.keys() <= {"startLine", "startColumn"}, region
    assert all(type(n) is int and n >= 1 for n in region.values()), region
    parts = urllib.parse.urlsplit(uri)
    assert parts.scheme in ("", "file") and " " not in uri, uri
    if not parts.scheme:
        text = pathlib.Path(urllib.parse.unquote(uri)).read_text()
        assert not uri.startswith("/") and region.get("startLine", 0) <= text.count("\n") + 1, (uri, region)
    return ":".join([uri, *map(str, region.values())])


def check_link(link):
    name, _, anchor = link.rpartition("/")[2].partition("#")
    titles = re.findall(r"^#+ (.+)$", (docs / name).read_text(), re.M)
    assert anchor in {t.lower().replace(" ", "-") for t in titles}, link


assert data["version"] == "2.1.0" and data["$schema"]
(run,) = data["runs"]
driver = run["tool"]["driver"]
assert driver["name"] == "mx-sim" and driver["version"]
rules = driver["rules"]
for rule in rules:
    assert rule["shortDescription"]["text"]
    check_link(re.fullmatch(r"Remedy: .*\. See (.*)\.", rule["help"]["text"])[1])
    assert urllib.parse.urlsplit(rule.get("helpUri", "https://h/")).scheme, rule
assert len({rule["id"] for rule in rules}) == len(rules) >= 20
print("successful:", run["invocations"][0]["executionSuccessful"])
prints = set()
for result in run["results"]:
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] in ("error", "warning") and ". Remedy: " in result["message"]["text"]
    check_link(result["properties"]["link"])
    (location,) = result["locations"]
    (logical,) = location["logicalLocations"]
    print(f"{place(location)}: {result['level']}: {result['ruleId']} in {logical['fullyQualifiedName']}, "
          f"{result['occurrenceCount']} times")
    for related in result["relatedLocations"]:
        print(f"  {place(related)}: {related['message']['text']}")
    (value,) = result["partialFingerprints"].values()
    assert value not in prints, value
    prints.add(value)
    print("  fingerprint", value)
