#!/usr/bin/env python3
"""Counts the results that lit wrote as JSON. The last line printed reads
'N passed, N failed, N skipped'; the status is 1 where a test failed or none
ran."""

import argparse
import collections
import json
import sys

OUTCOMES = {
    "PASS": "passed",
    "XFAIL": "passed",
    "FLAKYPASS": "passed",
    "UNSUPPORTED": "skipped",
    "SKIPPED": "skipped",
    "EXCLUDED": "skipped",
}


def main(path):
    with open(path) as f:
        tests = json.load(f)["tests"]
    counts = collections.Counter()
    for test in tests:
        outcome = OUTCOMES.get(test["code"], "failed")
        counts[outcome] += 1
        if outcome != "passed":
            print(f"{outcome}: {test['name']}")
    print(", ".join(f"{counts[key]} {key}" for key in ("passed", "failed", "skipped")))
    return 0 if counts["passed"] and not counts["failed"] else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    sys.exit(main(parser.parse_args().results))
