"""Prints synthetic results of speed.py --tune: tuning_results.py TUNE CHIP CASE@N=FRACTION[:WRONG]... TUNE is the
directory of tune.py."""

import json
import sys

sys.path.append(sys.argv[1])
import tune

schedules = {case.name: case.schedule for case in tune.variants()}


def result(text):
    case, figures = text.split("=")
    fraction, wrong = (figures.split(":") + ["0"])[:2]
    return {"case": case, "schedule": schedules.get(case, ""), "wrong": int(wrong),
            "rate": 4000 * float(fraction), "ceiling_rate": 4000.0,
            "times": {"mx": 1000 / float(fraction)}}


print(json.dumps({
    "about": {"chip": sys.argv[2], "gpu": "NVIDIA X1, 580.1, 1980 MHz",
              "date": "2031-02-03 04:05+00:00"},
    "results": [result(text) for text in sys.argv[3:]]}))
