"""Raise the mx dialect's version in a bytecode file to 2, as a later release would write it."""

import sys

data = open(sys.argv[1], "rb").read()
# Section 7 (dialect version), one byte long, holding the varint 1. Only mx has
# a version of its own in the file.
section, later = b"\x07\x03\x03", b"\x07\x03\x05"
if data.count(section) != 1:
    sys.exit(f"expected 1 dialect version section, found {data.count(section)}")
open(sys.argv[2], "wb").write(data.replace(section, later))
