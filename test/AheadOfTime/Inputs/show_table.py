"""Prints the entries of a table of tuned schedules: for each entry a line with the key, the
number of schedules tried, and whether the schedule taken was the fastest. With --shared, prints
the bytes of shared memory of the fastest schedule of the first entry: the tests' driver reports
them as its time."""

import json
import sys

for entry in json.load(open(sys.argv[-1]))["entries"]:
    key, tried = entry["key"], entry["sizes"][0]["candidates"]
    times = {one["schedule"]: one["microseconds"] for one in tried if not one["left_out"]}
    if sys.argv[1] == "--shared":
        sys.exit(print(round(min(times.values()) * 1000)))
    print(key["chip"], key["gpu"], key["compiler"], key["matmul"], entry["asked"], len(tried),
          times[entry["schedule"]] == min(times.values()))
