"""Color code with Pygments, a few lines at a time, so that neither a long file nor a long line holds the screen up.

Returns roles, not colors. Lines are colored in blocks: a block near the ones before it goes on from their state, one far away
starts anew and may take the inside of a long string for code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from fleet_tui.tui.review.code_text import shown

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Colored = tuple[tuple[str, str], ...]
"""Parts of one line, each with its role."""

BLOCK = 40
"""Lines."""
NEAR = 3
"""Blocks that are colored on the way to a later one."""
LEAD = 20
"""Lines before a block that starts anew, read for their state alone."""
LONGEST_LINE = 600
"""Characters; a longer line stays plain, as do lines whose language is not known."""
LONGEST_TEXT = 4000
"""Lines; in a longer text every block starts anew, as preparing the whole text takes too long."""

_LANGUAGES = {
    "python": "py pyi pyw", "javascript": "js mjs cjs", "jsx": "jsx", "typescript": "ts mts cts", "tsx": "tsx",
    "go": "go", "rust": "rs", "c": "c h", "cpp": "cc cpp cxx hpp hh hxx", "java": "java", "kotlin": "kt kts",
    "swift": "swift", "ruby": "rb rake gemspec", "php": "php", "csharp": "cs", "scala": "scala", "bash": "sh bash zsh",
    "fish": "fish", "sql": "sql", "html": "html htm", "xml": "xml svg xsl", "css": "css tcss", "scss": "scss", "less": "less",
    "json": "json jsonc", "yaml": "yaml yml", "toml": "toml", "ini": "ini cfg conf", "markdown": "md markdown",
    "rst": "rst", "lua": "lua", "perl": "pl pm", "r": "r", "julia": "jl", "elixir": "ex exs", "erlang": "erl hrl",
    "haskell": "hs", "ocaml": "ml mli", "clojure": "clj cljs", "dart": "dart", "zig": "zig", "nim": "nim",
    "make": "mk", "cmake": "cmake", "docker": "dockerfile", "terraform": "tf", "protobuf": "proto", "graphql": "graphql gql",
    "vue": "vue", "diff": "diff patch", "powershell": "ps1", "groovy": "groovy gradle", "nix": "nix",
    "vim": "vim", "emacs-lisp": "el", "scheme": "scm", "fortran": "f90 f95", "objective-c": "m mm",
}  # fmt: skip
_ENDINGS = {ending: name for name, endings in _LANGUAGES.items() for ending in endings.split()}
_NAMES = {"makefile": "make", "gnumakefile": "make", "dockerfile": "docker", "gemfile": "ruby", "rakefile": "ruby",
          "cmakelists.txt": "cmake", "justfile": "make", ".bashrc": "bash", ".zshrc": "bash", ".profile": "bash"}  # fmt: skip
_INTERPRETERS = (("python", "python"), ("bash", "bash"), ("node", "javascript"), ("ruby", "ruby"), ("perl", "perl"),
                 ("fish", "fish"), ("sh", "bash"))  # fmt: skip

_ROLES = {
    "Comment": "italic muted",
    "Comment.Preproc": "secondary",
    "Comment.Hashbang": "italic muted",
    "Keyword": "secondary",
    "Keyword.Constant": "code-value",
    "Operator.Word": "secondary",
    "Literal.String": "code-string",
    "Literal.String.Doc": "italic muted",
    "Literal.Number": "code-value",
    "Name.Decorator": "accent",
    "Name.Function": "primary",
    "Name.Class": "primary",
    "Name.Tag": "secondary",
    "Name.Builtin.Pseudo": "muted",
    "Generic.Heading": "bold primary",
    "Generic.Subheading": "bold primary",
    "Generic.Strong": "bold",
    "Generic.Emph": "italic",
}
"""Few colors: names stay plain."""


def language_of(path: str, first_line: str = "") -> str:
    """The name of the language by the file's name or its first line; empty if it is not known."""
    name = PurePosixPath(path).name.lower()
    found = _NAMES.get(name) or _ENDINGS.get(name.rpartition(".")[2])
    if found is None and first_line.startswith("#!"):
        found = next((language for word, language in _INTERPRETERS if word in first_line), None)
    return found or ""


@cache
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@cache
def _role(kind: Any) -> str:
    """The role of a type of token, or of the nearest more general type."""
    while kind is not None:
        name = str(kind).removeprefix("Token").removeprefix(".")
        if name in _ROLES:
            return _ROLES[name]
        kind = kind.parent
    return ""


class CodeColors:
    """The colors of one text."""

    def __init__(self, language: str, lines: Sequence[str]) -> None:
        self._lines = lines
        self._lexer: Any = _lexer(language) if language else None
        self._blocks: dict[int, list[Colored]] = {}
        self._next = 0
        """The block that `_going` colors next."""
        # Lexers made of two read all of their text before they return the first token.
        self._is_cold = hasattr(self._lexer, "root_lexer") or len(lines) > LONGEST_TEXT
        self._going = self._read(0, 0) if self._lexer is not None else None

    @property
    def is_plain(self) -> bool:
        return self._lexer is None

    def known(self, line: int) -> Colored | None:
        """The parts of a line; None if it is not colored yet."""
        if self._lexer is None:
            return ((shown(self._lines[line]), ""),)
        block = self._blocks.get(line // BLOCK)
        return block[line % BLOCK] if block is not None else None

    def color(self, line: int) -> bool:
        """Color a block, at most the one with this line; returns whether the line is colored now."""
        wanted = line // BLOCK
        if self._lexer is None or wanted in self._blocks:
            return True
        if self._going is not None and not self._is_cold and wanted - self._next <= NEAR:
            self._blocks[self._next] = next(self._going)
            self._next += 1
        else:
            lead = min(LEAD, wanted * BLOCK)
            self._blocks[wanted] = next(self._read(wanted * BLOCK - lead, lead))
        return wanted in self._blocks

    def _read(self, start: int, lead: int) -> Iterator[list[Colored]]:
        """Blocks of colored lines, without the lead of the first; lazily, as lexers are slow."""
        end = min(len(self._lines), start + lead + BLOCK) if start or self._is_cold else len(self._lines)
        wanted = [shown(line) for line in self._lines[start:end]]
        text = "".join(f"{'' if len(line) > LONGEST_LINE else line}\n" for line in wanted)
        block: list[Colored] = []
        parts: list[tuple[str, str]] = []
        for _, kind, value in self._lexer.get_tokens_unprocessed(text):
            role = _role(kind)
            head, *rest = value.split("\n")
            if head and parts and parts[-1][1] == role:
                parts[-1] = (parts[-1][0] + head, role)
            elif head:
                parts.append((head, role))
            for piece in rest:
                block.append(tuple(parts))
                parts = [(piece, role)] if piece else []
                if len(block) == lead + BLOCK:
                    yield self._finished(block[lead:], start + lead)
                    block, start, lead = [], start + lead + BLOCK, 0
        yield self._finished(block[lead:], start + lead)

    def _finished(self, block: list[Colored], start: int) -> list[Colored]:
        """The block with the lines that stayed plain."""
        plain = [shown(line) for line in self._lines[start : start + BLOCK]]
        block += [()] * (len(plain) - len(block))
        return [
            parts if "".join(text for text, _ in parts) == line else ((line, ""),)
            for parts, line in zip(block, plain, strict=False)
        ]
