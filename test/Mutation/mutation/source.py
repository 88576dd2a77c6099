"""PTX text as a list of statements with source ranges.

This is not a full parser. Mutations need only the opcode, the operands and the exact extent of each instruction in a
kernel, and keep all other text verbatim."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Statement:
    index: int
    begin: int  # start of the text removed by a deletion
    end: int  # after the semicolon
    line: int
    predicate: str  # "@%p1", "@!%p1" or ""
    opcode: str  # including modifiers
    operands: tuple

    def has(self, *modifiers):
        return all(m in self.opcode.split(".") for m in modifiers)

    def starts(self, *prefixes):
        return any(
            self.opcode == p or self.opcode.startswith(p + ".") for p in prefixes
        )

    def address(self, k=0):
        """Returns the k-th address operand, without brackets and coordinates."""
        found = [o for o in self.operands if o.startswith("[")]
        return found[k][1:-1].split(",")[0].strip()


# Semicolon-terminated directives in a kernel body.
DECLARATIONS = ("reg", "param", "local", "shared", "pragma", "callprototype")
DECLARATIONS += ("branchtargets", "calltargets")


def blank_comments(text):
    """Replaces comments with spaces, which keeps offsets valid."""
    return re.sub(
        r"//[^\n]*|/\*.*?\*/",
        lambda m: re.sub(r"[^\n]", " ", m.group()),
        text,
        flags=re.S,
    )


def split_operands(text):
    """Splits at top-level commas. For example, [a, {x, y}] is one operand."""
    parts, depth, start = [], 0, 0
    for k, c in enumerate(text):
        depth += c in "[{("
        depth -= c in "]})"
        if c == "," and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    parts.append(text[start:])
    return tuple(p.strip() for p in parts if p.strip())


class Source:
    """Text of a module, and the statements of one of its kernels."""

    def __init__(self, text, kernel):
        self.text = text
        self.kernel = kernel
        plain = blank_comments(text)
        head = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\(", plain)
        if not head:
            raise SystemExit(f"mutants: error: the module has no kernel '{kernel}'")
        self.entry = head.start()
        # The parameters end at the first ')'; directives follow up to the body.
        self.body = plain.index("{", plain.index(")", head.end())) + 1
        depth, end = 1, self.body
        while depth:
            depth += {"{": 1, "}": -1}.get(plain[end], 0)
            end += 1
        self.statements = []
        at = self.body
        pattern = re.compile(
            # Labels, scopes and source lines end without a semicolon.
            r"(?:[A-Za-z_$%][\w$]*\s*:(?!:)|[{}]|\s|\.loc\s[^\n]*)*"
            r"(?P<all>(?P<p>@!?%?[\w$]+\s+)?(?P<op>[\w.:]+)(?P<args>[^;]*);)"
        )
        while True:
            found = pattern.match(plain, at, end)
            if not found:
                break
            at = found.end()
            if found["op"].startswith("."):
                if found["op"].split(".")[1] not in DECLARATIONS:
                    line = plain.count("\n", 0, found.start("op")) + 1
                    raise SystemExit(f"mutants: error: line {line}: unknown {found['op']}")
                continue
            self.statements.append(
                Statement(
                    len(self.statements),
                    found.start("all"),
                    found.end("all"),
                    plain.count("\n", 0, found.start("op")) + 1,
                    (found["p"] or "").strip(),
                    found["op"],
                    split_operands(found["args"]),
                )
            )

        self.wide = re.findall(
            r"([%\w$]+)(<\d+>)?",
            " ".join(re.findall(r"\.reg\s+\.[busf]64\s+([^;]*);", plain[self.body : end])),
        )

    def bits_of(self, register):
        """Returns the width of an operand in bits; names of variables count as 32 bits."""
        for name, is_family in self.wide:
            rest = register.removeprefix(name)
            if rest != register and (rest.isdigit() if is_family else not rest):
                return 64
        return 32

    def replace(self, statement, text):
        """Returns the module with one statement replaced."""
        return self.text[: statement.begin] + text + self.text[statement.end :]

    def original(self, statement):
        return self.text[statement.begin : statement.end]
