"""Changes the mx dialect's version in a bytecode file, to imitate another release.

usage: change-version.py FILE VERSION OUT
"""

import sys

data = open(sys.argv[1], "rb").read()
# Section 7 (dialect version), one byte long, with a one-byte varint that has its lowest bit set.
# Only mx writes a version to the file.
section = b"\x07\x03" + bytes([6 << 1 | 1])
if data.count(section) != 1:
    sys.exit(f"expected 1 dialect version section, found {data.count(section)}")
other = b"\x07\x03" + bytes([int(sys.argv[2]) << 1 | 1])
open(sys.argv[3], "wb").write(data.replace(section, other))
