"""Prints a table of tuned schedules. The line of each entry contains its key, the number of
measured schedules, and whether the selected schedule was the fastest. With --shared, prints only
the shared memory size, in bytes, of the fastest schedule in the first entry. The tests' fake driver
reports this size as the schedule's time."""

import json
import sys

for entry in json.load(open(sys.argv[-1]))["entries"]:
    key, tried = entry["key"], entry["sizes"][0]["candidates"]
    times = {one["schedule"]: one["microseconds"] for one in tried if not one["left_out"]}
    if sys.argv[1] == "--shared":
        sys.exit(print(round(min(times.values()) * 1000)))
    print(key["chip"], key["gpu"], key["compiler"], key["matmul"], entry["asked"], len(tried),
          times[entry["schedule"]] == min(times.values()))
