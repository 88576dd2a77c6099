# Tests the templates for IR tests. A case is a copy of its template in which texts and blocks are replaced.
# RUN: %python %s %expand_cases

import pathlib
import re
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


def expand(text):
    """Returns the expanded cases, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = pathlib.Path(folder, "in.mlir"), pathlib.Path(folder, "out.mlir")
        source.write_text(TEMPLATE + text)
        done = subprocess.run([*sys.argv[1:], source, result], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().removeprefix(f"{source}:")
        head, _, *cases = result.read_text().replace(f"{source}:", "").split("\n// -----\n")
        assert head == "// 1\n// Copied.\n", head
        return [re.sub(r"\n+", "\n", case.strip("\n")) for case in cases]


def case(text):
    """Returns the case that `text`, the section after the templates, expands to."""
    expanded = expand(text)
    if isinstance(expanded, str):
        return expanded
    place, _, text = "\n// -----\n".join(expanded).partition("\n")
    assert place == "// 26", place
    return text


# Cases with default texts, replaced texts, and replaced blocks. A new block gets the indentation of the old block.
assert case("\n// Why.\n// USE op\n") == "// Why.\nop 1 {\n  inner 1\n}"
assert case("\n// USE op\n// SET n = 2 = 2\n") == "op 2 = 2 {\n  inner 2 = 2\n}"
assert case("\n// USE op body\nloop {\n  ${n}\n}\n") == "op 1 {\n  loop {\n    1\n  }\n}"
assert case("\n// USE op\n// BLOCK body\n// BLOCK above\nx\n") == "op 1 {\n  x\n}"
# A case may also replace blocks of a template that its own template uses.
assert case("\n// USE both\n") == "op 1 {\n  note\n  inner 1\n}"
assert case("\n// USE both above\n// SET n = 3\nx\n\n") == "op 3 {\n  x\n  inner 3\n}"
assert case("\nop\n") == "op"
# A name that the template does not contain is an error, because the replacement would be ignored.
assert case("\n// USE up\n") == "26: error: expected one of op, both, found up"
assert case("\n// USE op\n// SET m = 2\n") == "26: error: expected one of n, found m"
assert case("\n// USE op tail\nx\n") == "26: error: expected one of above, body, found tail"
assert case("\n// USE op\n// BLOCK tail\nx\n") == "26: error: expected one of above, body, found tail"
assert case("\n// USE op\nx\n") == "26: error: expected a block, found 'x'"
# A missing separator is an error, because it would join two cases, or turn a case into a template.
assert case("\n// USE op body\nx\n\n// USE op\n") == "26: error: expected one case in a section, found USE, USE"
assert case("\n// USE op body\nx\n\n// TEMPLATE new\n") == "26: error: expected one case in a section, found USE, TEMPLATE"
assert case("\n// TEMPLATE new\nx\n") == " error: expected a case of each template, found none of new"
assert case("\n// TEMPLATE op\nx\n") == "26: error: expected one template op, found another"
# After CASES, each paragraph is a case with its own line number. A comment-only paragraph belongs to the next case.
assert expand("\n// CASES op body\nx ${n}\n\n// Why.\n\n// SET n = 2\n// BLOCK above\ny\n") == [
    "// 29\nop 1 {\n  x 1\n}", "// 31\nop 2 {\n  y\n  // Why.\n}"]
assert expand("\n// CASES\nop a\n\n// expected-error {{x}}\n\nop b\n// -----\nop c\n") == [
    "// 29\nop a", "// 31\n// expected-error {{x}}", "// 33\nop b", "// 35\nop c"]
assert case("\n// CASES op\n// SET n = 2\n\n// SET m = 2\n") == "31: error: expected one of n, found m"
# A missing blank line is an error, because it would join two cases.
assert case("\n// CASES op body\nx\n// SET n = 2\ny\n") == "29: error: expected texts above the code of a case, found n = 2"
