"""Changes the mx dialect version in a bytecode file, to imitate another release.

usage: change-version.py FILE VERSION OUT
"""

import sys

data = open(sys.argv[1], "rb").read()
# Section 7 (dialect version) contains one byte: a one-byte varint, marked by its lowest bit.
# Only mx writes a version to the file.
section = b"\x07\x03" + bytes([6 << 1 | 1])
if data.count(section) != 1:
    sys.exit(f"expected 1 dialect version section, found {data.count(section)}")
other = b"\x07\x03" + bytes([int(sys.argv[2]) << 1 | 1])
open(sys.argv[3], "wb").write(data.replace(section, other))
