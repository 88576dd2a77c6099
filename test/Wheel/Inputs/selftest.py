"""Installs a wheel and runs its self-test: selftest.py FOLDER WHEEL"""

import sys

from installation import Installation

print(Installation(*sys.argv[1:]).run("python", "-m", "mx_compiler.selftest"))
