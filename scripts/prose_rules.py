"""Words and phrases of scripts/check-prose that plain English does not need, each with
what to write in its place. A rule speaks of a sense, not of a word: `but` matches the
uses of the word that are right, and only `under` of the tree is looked at, if given.

A space in a pattern matches any white space, line ends and the leaders of comments
between two lines."""

import re
from typing import NamedTuple, Optional


class Rule(NamedTuple):
    name: str
    pattern: str
    instead: str
    but: Optional[str] = None
    under: tuple = ()


# What a compiler writes about: where the accumulators of an MMA are.
_MMA = r"accumulat|registers?\b|tensor memory|wgmma|tcgen05|\bmma|\bMMA|epilogue|fragment|warpgroup"
# The parts of the tree that know work tiles.
_KERNELS = ("lib/Conversion", "lib/Dialect/MXGPU", "include/mx/Dialect/MXGPU",
            "include/mx/Conversion", "docs")
# Senses of "unit" that are the field's.
_UNITS = (r"unit (attributes?|tests?|dimensions?|dims?|sizes?|extents?|strides?|vectors?|axis|axes|box|"
          r"in the last|roundoff|stage|cost)|units? of (least|the last)|functional units?|"
          r"translation units?|(a|half a|one) unit (in|less)|load unit|copy unit|multiply unit|"
          r"units: |units? tests?|in units of")

RULES = [
    Rule("behind", r"\b[Bb]ehind\b", "'after' or 'past' of order and time, 'follows' of layout",
         r"behind (an?|the|this|that|its|one|each|single)? ?(single |C |same |public |\w+ )?"
         r"(interfaces?|drivers?|API|option|flag|handle|link|library|proxy|pointer|symlink|header)"
         r"|behind (which|Simulator\.h)|CudaDevice.cpp - A GPU behind|(leaves?|left|fall(s|en)?|lags?) (\w+ )?behind"),
    Rule("nobody", r"\b[Nn]obody\b", "the subject: 'no kernel reads it', 'unused'"),
    Rule("somebody", r"\b[Ss]omebody\b", "the subject: 'another process', 'the caller'"),
    Rule("those who", r"\b[Tt]hose who\b", "the noun: 'the warps that', 'the callers that'"),
    Rule("so many", r"\b[Ss]o many\b", "the number: 'N lanes'"),
    Rule("what ... has of", r"\b[Ww]hat [^.;:|`]{1,60}?\b(ha(s|ve|d)|knows?|knew) of\b",
         "the noun: 'the part of the tile that a thread holds'"),
    Rule("what ... have in common", r"\b[Ww]hat [^.;:|`]{1,60}? in common of\b", "'the common part of'"),
    Rule("what of", r"(?:^|[.;:(] |\n)\W*[Ww]hat of\b", "the noun that is meant"),
    Rule("for want of", r"\b[Ff]or want of\b", "'because X is missing'"),
    Rule("by silence", r"\bby silence\b", "'by default'"),
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
    Rule("is another's", r"\b(another|others|the next)'s\b(?= ?[,.;:)])", "the noun: 'belongs to another group'"),
    Rule("place in the text", r"\bthe place in the (program|text)\b", "'the source location'"),
]

# Any run of white space, with what begins a line of a comment after a line end.
_SPACE = r"(?:[ \t]|\n[ \t]*(?:///?|\*|#|;|>)?[ \t]*)+"


def _compile(pattern):
    # A space in brackets of a set stays a space.
    parts = re.split(r"(\[[^\]]*\])", pattern)
    return re.compile("".join(p if p.startswith("[") else p.replace(" ?", "\0").replace(
        " ", _SPACE).replace("\0", f"(?:{_SPACE})?") for p in parts))


class Matcher:
    """A rule, ready to look at texts."""

    def __init__(self, rule):
        self.rule = rule
        self.pattern = _compile(rule.pattern)
        self.but = _compile(rule.but) if rule.but else None

    def applies_to(self, path):
        return not self.rule.under or path.startswith(tuple(f"{u}/" for u in self.rule.under))

    def find(self, text):
        """The offsets of what the rule finds in `text`."""
        right = [m.span() for m in self.but.finditer(text)] if self.but else []
        for match in self.pattern.finditer(text):
            start, end = match.span()
            if not any(first < end and start < last for first, last in right):
                yield start
