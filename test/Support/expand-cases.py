# Templates of IR tests: a case is its template with other texts and blocks.
# RUN: %python %s %expand_cases

import pathlib
import subprocess
import sys
import tempfile

TEMPLATE = """// Copied.

// -----

// TEMPLATE op
// SET n = 1
op ${n} {
  // BLOCK above
  // END
  // BLOCK body
  inner ${n}
  // END
}

// -----

// TEMPLATE both
// USE op above
note

// -----

// USE both

// -----

"""


def expand(case):
    """The exit status, the expanded case or the error."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = pathlib.Path(folder, "in.mlir"), pathlib.Path(folder, "out.mlir")
        source.write_text(TEMPLATE + case)
        done = subprocess.run([*sys.argv[1:], source, result], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().removeprefix(f"{source}:")
        head, _, text = result.read_text().split("\n// -----\n")
        assert head == f"// {source}:1\n// Copied.\n", head
        place, text = text.split("\n", 1)
        assert place == f"// {source}:26", place
        return text.strip("\n")


# Defaults, other texts, other blocks, and the lines of a block at its depth.
assert expand("\n// Why.\n// USE op\n") == "// Why.\nop 1 {\n  inner 1\n}"
assert expand("\n// USE op\n// SET n = 2 = 2\n") == "op 2 = 2 {\n  inner 2 = 2\n}"
assert expand("\n// USE op body\nloop {\n  ${n}\n}\n") == "op 1 {\n  loop {\n    1\n  }\n}"
assert expand("\n// USE op\n// BLOCK body\n// BLOCK above\nx\n") == "op 1 {\n  x\n}"
# A template made of another keeps the blocks of both replaceable.
assert expand("\n// USE both\n") == "op 1 {\n  note\n  inner 1\n}"
assert expand("\n// USE both above\n// SET n = 3\nx\n\n") == "op 3 {\n  x\n  inner 3\n}"
assert expand("\nop\n") == "op"
# A name that the template lacks would leave a case without its difference.
assert expand("\n// USE up\n") == "26: error: expected one of op, both, found up"
assert expand("\n// USE op\n// SET m = 2\n") == "26: error: expected one of n, found m"
assert expand("\n// USE op tail\nx\n") == "26: error: expected one of above, body, found tail"
assert expand("\n// USE op\n// BLOCK tail\nx\n") == "26: error: expected one of above, body, found tail"
assert expand("\n// USE op\nx\n") == "26: error: expected a block, found 'x'"
# A separator that is missing would join two cases, or make a template of a case.
assert expand("\n// USE op body\nx\n\n// USE op\n") == "26: error: expected one case in a section, found USE, USE"
assert expand("\n// USE op body\nx\n\n// TEMPLATE new\n") == "26: error: expected one case in a section, found USE, TEMPLATE"
assert expand("\n// TEMPLATE new\nx\n") == " error: expected a case of each template, found none of new"
