"""Checks a trace of mx-sim against the Trace Event Format and the report of the same run:
check_trace.py TRACE.json REPORT.json. Prints the number of spans of each category."""

import bisect
import collections
import json
import sys
from decimal import Decimal

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file, parse_float=Decimal)["traceEvents"]
with open(sys.argv[2], encoding="utf-8") as file:
    launches = json.load(file)["launches"]

names, spans, flows, counts = {}, collections.defaultdict(list), collections.defaultdict(list), collections.Counter()
for event in events:
    thread = event["pid"], event["tid"]
    if event["ph"] == "M":
        names[event["name"], thread] = event["args"]
    elif event["ph"] == "X":
        begin, end = event["ts"], event["ts"] + event["dur"]
        assert begin < end and event["name"] and event["args"]["cycles"] > 0, event
        # A thread shows a row of a track, so spans follow each other.
        assert not spans[thread] or spans[thread][-1][1] <= begin, (spans[thread][-1], event)
        spans[thread].append((begin, end, event["cat"]))
        counts[event["cat"]] += 1
    elif event["ph"] in "sf":
        flows[event["id"]].append(event)
    else:
        assert event["ph"] == "i" and event["s"] == "t" and event["cat"] == "finding", event
        counts["finding"] += 1
assert all(("thread_name", thread) in names for thread in spans)
assert {pid for pid, _ in spans} == {pid for what, (pid, _) in names if what == "process_name"}


def span_of(event):
    """Returns the span to which Perfetto binds the end of an arrow."""
    row = spans[event["pid"], event["tid"]]
    span = row[bisect.bisect(row, (event["ts"], Decimal("Infinity"))) - 1]
    assert span[0] <= event["ts"] < span[1], (event, span)
    return span


arrows = collections.Counter()
for start, end in flows.values():
    assert start["ph"] == "s" and end["ph"] == "f" and end["bp"] == "e", (start, end)
    assert start["ts"] <= end["ts"], (start, end)
    arrows[span_of(start)[2] + " to " + span_of(end)[2]] += 1

# The trace ends with the last modelled launch, except for the cost of ending a CTA.
total = sum(launch["time"]["us"] for launch in launches if "time" in launch)
last = max(row[-1][1] for row in spans.values())
assert not total or 0.9 * total < last <= total, (last, total)
for kind, count in sorted({**counts, **arrows}.items()):
    print(f"{kind}: {count}")
