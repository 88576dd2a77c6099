"""Rules of scripts/check-prose: components and constructions whose rates are limited, and
terms with their replacements.

A space in the pattern of a term matches any white space, line ends and the leaders of
comments between two lines."""

import re
from typing import NamedTuple, Optional

# Component, and the pattern of its paths: the first that matches counts.
COMPONENTS = {
    "simulator": r"simulator/(?!test/|unittests/).*\.(cpp|h|def|cu|js|py)$",
    "compiler": r"(lib|include|tools)/.*\.(cpp|h|def|td)$",
    "runtime": r"(runtime|python)/.*\.(cpp|h|c)$",
    "python": r"(python|benchmarks|examples)/.*\.py$",
    "scripts": r"scripts/[^.]*(\.py)?$",
    "tests": r"(simulator/)?(test|unittests)/.*\.(py|cpp|h|test|mlir)$",
    "pages": r"(README|CONTRIBUTING|CHANGELOG|SECURITY|docs/.*|simulator/.*)\.md$",
}
CONSTRUCTIONS = {
    "what": r"\b[Ww]hat\b",
    "who": r"\b[Ww]ho(ever|m)?\b",
    "whose": r"\b[Ww]hose\b",
    "those": r"\b[Tt]hose (of|that|which|who|from|in|with)\b",
    "has": r"\b(has|have)\b",
    "lies": r"\b(lies?|stands?)\b",
    "where": r"\b[Ww]here\b",
    "one": r"\b[Oo]nes?\b",
    "that": r"\b[Tt]hat\b",
    "it": r"\b[Ii]ts?\b",
    "which": r"\b[Ww]hich\b",
}
# First words of a doc comment that delay its subject.
OPENINGS = {"what", "of", "who", "whoever", "that", "those", "where", "whether", "how", "as", "in", "and", "at",
            "with", "for"}
# Files about the rules, recorded data, and files of programs.
LEFT_OUT = re.compile(r"(^|/)scripts/(prose_rules\.py|check-prose)$|test/Docs/(check-prose\.py|prose-rates\.txt)$|"
                      r"test/Frozen/Renamed\.md$|/Golden/|Inputs/.*\.ptx$|\.(xz|npy|svg|json|csv|bin)$")


class Rule(NamedTuple):
    """A replaced term: `but` matches uses that remain right; `under` limits the paths."""
    name: str
    pattern: str
    instead: str
    but: Optional[str] = None
    under: tuple = ()


# Contexts of the accumulators of an MMA.
_MMA = r"accumulat|registers?\b|tensor memory|wgmma|tcgen05|\bmma|\bMMA|epilogue|fragment|warpgroup"
# Paths with work tiles.
_KERNELS = ("lib/Conversion", "lib/Dialect/MXGPU", "include/mx/Dialect/MXGPU",
            "include/mx/Conversion", "docs")
# Accepted senses of "unit".
_UNITS = (r"unit (attributes?|tests?|dimensions?|dims?|sizes?|extents?|strides?|vectors?|axis|axes|box|"
          r"in the last|roundoff|stage|cost)|units? of (least|the last)|functional units?|"
          r"translation units?|(a|half a|one) unit (in|less)|load unit|copy unit|multiply unit|"
          r"units: |units? tests?|in units of")

TERMS = [
    Rule("give back", r"\b(stages?|slots?|operands?|buffers?|rings?|release|tail|it)\b[^.;]{0,40}?"
         r"\b(goes|go|went|gives?|given|gave) (it )?back\b", "'is released', 'releases'", None, _KERNELS),
    Rule("sums", rf"\bsums (of|in|are in|from|to) (the )?({_MMA})|({_MMA})[^.;|\n]{{0,30}}\b[Ss]ums\b",
         "'accumulator'", r"[Ss]ums in f(32|64)|exact[- ]sums?"),
    Rule("class Sums", r"\b(Sums|getSums?|SumsOf\w*|\w*Sums\w*)\b(?=\s*[&*({;]|::)", "'Accumulator'", None,
         ("lib", "include")),
    Rule("numbers", r"\b(bf16|f16|f32|fp16|dense|plain|dequantized|16-bit) numbers\b|"
         r"\bnumbers (in|of) (bf16|f16|f32|the input|the tile|a tile)\b", "'values'"),
    Rule("numbers on the grid", r"\bnumbers on (the|its|a|their) grid\b|\bNumbersOnGrid\b|\bNumbersMainLoop\b",
         "'fake-quantized values'"),
    Rule("unit", r"\b(?<!%)[Uu]nits?\b", "'work tile'", _UNITS,
         ("lib/Conversion", "lib/Dialect/MXGPU", "include/mx/Dialect/MXGPU", "include/mx/Conversion")),
    Rule("few rows", r"\b[Ff]ew rows\b", "'small M' or 'decode GEMM'", r"(too|as) few rows"),
    Rule("way to multiply", r"\bProductWay\b|\bway to multiply\b|\bways to multiply\b", "'strategy'"),
    Rule("taken memory", r"\b[Tt]aken memory\b|\bmemory that (it|a call|calls) takes?\b",
         "'memory that the runtime allocates'"),
    Rule("kept calls", r"\b[Kk]ept calls?\b", "'launch cache', 'cached launch'"),
    Rule("place number", r"\b(at|to|in|from|of) places? \d", "'index', 'location'"),
    Rule("digits", r"\bdigits? of (a|an|the|its|one|each|this|registers?|values?|threads?) ?"
         r"(layout|value|fragment|thread|register|dimension)", "'modes' (CuTe)"),
    Rule("contestants", r"\b[Cc]ontestants?\b", "'baselines', with mx among them 'implementations'"),
    Rule("place in the text", r"\bthe place in the (program|text)\b", "'the source location'"),
]

# Any run of white space, with the leader of a comment after a line end.
_SPACE = r"(?:[ \t]|\n[ \t]*(?:///?|\*|#|;|>)?[ \t]*)+"


def _compile(pattern):
    # A space in brackets of a set stays a space.
    parts = re.split(r"(\[[^\]]*\])", pattern)
    return re.compile("".join(p if p.startswith("[") else p.replace(" ?", "\0").replace(
        " ", _SPACE).replace("\0", f"(?:{_SPACE})?") for p in parts))


class Matcher:
    """A compiled rule."""

    def __init__(self, rule):
        self.rule = rule
        self.pattern = _compile(rule.pattern)
        self.but = _compile(rule.but) if rule.but else None

    def applies_to(self, path):
        return not self.rule.under or path.startswith(tuple(f"{u}/" for u in self.rule.under))

    def find(self, text):
        """Yields the offset of each match in `text`."""
        right = [m.span() for m in self.but.finditer(text)] if self.but else []
        for match in self.pattern.finditer(text):
            start, end = match.span()
            if not any(first < end and start < last for first, last in right):
                yield start
