"""Edits a table of tuned schedules: edit_table.py TABLE OUT MEMBER=VALUE...

MEMBER is a member of the table (version, format), a member of every entry's key (chip, gpu,
compiler, matmul), or `schedule`, the schedule of every entry. `twice=GPU` adds a copy of each
entry for another GPU."""

import copy
import json
import sys

table = json.load(open(sys.argv[1]))
for change in sys.argv[3:]:
    name, value = change.split("=", 1)
    if name == "twice":
        for entry in copy.deepcopy(table["entries"]):
            entry["key"]["gpu"] = value
            table["entries"].append(entry)
    elif name in table:
        table[name] = json.loads(value)
    else:
        for entry in table["entries"]:
            owner = entry["key"] if name in entry["key"] else entry
            assert name in owner, name
            owner[name] = value
json.dump(table, open(sys.argv[2], "w"))
