#!/usr/bin/env python3
"""Counts the results in lit's JSON output. For each feature that the machine lacks, prints the number of tests skipped
because of it. The last line contains, for each tier, the number of tests that ran, passed, failed, were skipped, or
were excluded with their tier. The exit status is 1 if a test failed or no test passed.

Tests over the processor time budget of their tier are listed. With --enforce-budgets they also make the status 1."""

import argparse
import collections
import json
import re
import sys

OUTCOMES = {
    "PASS": "passed",
    "XFAIL": "passed",
    "FLAKYPASS": "passed",
    "UNSUPPORTED": "skipped",
    "SKIPPED": "skipped",
    "LEFT_OUT": "left out",
}

# lit's message for a skipped test.
WANTED = re.compile(r"unavailable features: (.*)")
# How to obtain a missing feature.
REMEDIES = {**dict.fromkeys(["torch", "torchao"], "scripts/setup --torch installs it"),
            "docs-tools": "scripts/setup installs them"}


def wanted(test):
    """Returns the missing features of a skipped test, or None if lit names no feature."""
    found = WANTED.search(test.get("output", ""))
    return found and found[1].strip()


def say_wanted(skipped):
    for features, count in sorted(skipped.items()):
        remedies = {REMEDIES[name] for name in features.split(", ") if name in REMEDIES}
        tests = f"{count} test{'s' if count > 1 else ''}"
        print("; ".join([f"skipped for want of {features}: {tests}", *remedies]))


def is_over_budget(test):
    metrics = test.get("metrics", {})
    return metrics.get("processor_seconds", 0) > metrics.get("budget_seconds", float("inf"))


def say_over_budget(test):
    metrics = test["metrics"]
    print(f"over budget: {test['name']}: {metrics['processor_seconds']:.1f} s of processor time, "
          f"{metrics['budget_seconds']:g} s are meant: divide the test or shorten it "
          "(docs/contributing/Developing.md)")


def main(path, enforce_budgets):
    with open(path) as f:
        tests = json.load(f)["tests"]
    counts = {tier: collections.Counter() for tier in ("default", "slow")}
    seconds = collections.Counter()
    skipped = collections.Counter()
    for test in tests:
        outcome = OUTCOMES.get(test["code"], "failed")
        # lit only measures the wall time of tests in a GoogleTest binary; all of them belong to the default tier
        # (simulator/test/Unit/lit.cfg.py).
        metrics = test.get("metrics", {})
        tier = metrics.get("tier", "default")
        counts[tier][outcome] += 1
        seconds[tier] += metrics.get("processor_seconds", test.get("elapsed") or 0)
        if outcome not in ("passed", "left out"):
            print(f"{outcome}: {test['name']}")
        if outcome == "skipped" and wanted(test):
            skipped[wanted(test)] += 1
    over = [test for test in tests if is_over_budget(test)]
    for test in over:
        say_over_budget(test)
    say_wanted(skipped)
    print("minutes of processor time: " +
          ", ".join(f"{tier} tier {seconds[tier] / 60:.1f}" for tier in counts))
    lines = []
    for tier, count in counts.items():
        count["run"] = count["passed"] + count["failed"]
        numbers = (f"{count[key]} {key}" for key in ("run", "passed", "failed", "skipped", "left out"))
        lines.append(f"{tier} tier: {', '.join(numbers)}")
    print("; ".join(lines))
    passed, failed = (sum(count[key] for count in counts.values()) for key in ("passed", "failed"))
    return 0 if passed and not failed and not (over and enforce_budgets) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("--enforce-budgets", action="store_true",
                        help="fail if a test exceeds its budget")
    options = parser.parse_args()
    sys.exit(main(options.results, options.enforce_budgets))
