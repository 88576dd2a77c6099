"""Prints the entries of a table of tuned schedules, one a line: the key, how many schedules
were tried, and whether the one that was taken took the least time. With --shared, the bytes
of shared memory of the fastest schedule of the first entry, by which the driver of the tests
says how long it took."""

import json
import sys

for entry in json.load(open(sys.argv[-1]))["entries"]:
    key, tried = entry["key"], entry["sizes"][0]["candidates"]
    times = {one["schedule"]: one["microseconds"] for one in tried if not one["left_out"]}
    if sys.argv[1] == "--shared":
        sys.exit(print(round(min(times.values()) * 1000)))
    print(key["chip"], key["gpu"], key["compiler"], key["matmul"], entry["asked"], len(tried),
          times[entry["schedule"]] == min(times.values()))
