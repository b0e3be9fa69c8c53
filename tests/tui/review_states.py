"""Reviews made by hand: files with an old and a new text, and a worker that answers from them."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fleet_tui.errors import FleetError
from fleet_tui.models import Receipt
from fleet_tui.work import ChangedFile, CheckRun, Diff, DiffKind, DiffLine, FileDiff, Hunk, ReviewComment
from tests.tui import fleet_states
from tests.tui.dashboard_app import StillWorker

AGENT = "id-refactor-auth-a"
SESSION = "src/auth/session.py"
SESSION_OLD = '''"""Sessions: who is logged in, and until when."""
from __future__ import annotations

import secrets
from datetime import timedelta

from atlas.store import Store
from atlas.users import User

COOKIE = "atlas"
PATH = "/"


class SessionError(Exception):
    """The session cannot be used."""


def name_of(user: User) -> str:
    """How logs call the user."""
    return f"{user.id} ({user.login})"


def is_fresh(age: timedelta) -> bool:
    """Whether no second factor is asked for."""
    return age < timedelta(minutes=5)


class Session:
    ttl = timedelta(days=30)

    def __init__(self, store: Store) -> None:
        self.store = store

    def issue(self, user: User) -> str:
        sid = secrets.token_hex(16)
        self.store.put(sid, user.id, ttl=self.ttl)
        return sid

    def load(self, cookie: str) -> User | None:
        uid = self.store.get(cookie)
        if uid is None:
            return None
        return User.by_id(uid)

    def drop(self, cookie: str) -> None:
        self.store.delete(cookie)

    def renew(self, cookie: str) -> str:
        user = self.load(cookie)
        self.drop(cookie)
        return self.issue(user)
'''
SESSION_NEW = (
    SESSION_OLD.replace("import secrets\n", "")
    .replace("from atlas.store import Store", "from atlas.auth.claims import Claims\nfrom atlas.auth.signer import Signer")
    .replace("store: Store", "signer: Signer")
    .replace("self.store = store", "self.signer = signer")
    .replace("        sid = secrets.token_hex(16)\n", "        claims = Claims.of(user, self.ttl)\n")
    .replace("        self.store.put(sid, user.id, ttl=self.ttl)\n        return sid\n", "        return self.signer.sign(claims)\n")
    .replace("uid = self.store.get(cookie)", "claims = self.signer.verify(cookie)")
    .replace("if uid is None:", "if claims is None or claims.revoked():")
    .replace("User.by_id(uid)", "User.by_id(claims.sub)")
    .replace("self.store.delete(cookie)", "self.signer.verify(cookie).revoke()")
    + "\n    def legacy(self, cookie: str) -> bool:\n        return len(cookie) == 32\n"
)  # fmt: skip
CLAIMS = "".join(f"LIMIT_{number} = {number}\n" for number in range(1, 65))
LOGIN_OLD = 'def login(request):\n    user = check(request)\n    return "ok"\n'
LOGIN_NEW = "def login(request):\n    user = check(request)\n    if user is None:\n        return deny(request)\n    return answer(user)\n"
TEXTS: Mapping[str, tuple[str, str]] = {
    "src/auth/claims.py": ("", CLAIMS),
    SESSION: (SESSION_OLD, SESSION_NEW),
    "src/auth/signer.py": ("", "def sign(claims):\n    return claims\n"),
    "src/http/login.py": (LOGIN_OLD, LOGIN_NEW),
    "tests/auth/test_session.py": ("", "def test_it():\n    assert True\n"),
    "pyproject.toml": ("[project]\nname = 'atlas'\n", "[project]\nname = 'atlas'\ndependencies = ['jose']\n"),
}


def hunks_of(old: str, new: str, context: int = 3) -> tuple[Hunk, ...]:
    """The hunks between two texts."""
    before, after = old.splitlines(), new.splitlines()
    around = context if context >= 0 else len(before) + len(after)
    found = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(around):
        lines: list[DiffLine] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [DiffLine(" ", before[i], i + 1, j1 + i - i1 + 1) for i in range(i1, i2)]
            else:
                lines += [DiffLine("-", before[i], i + 1, 0) for i in range(i1, i2)]
                lines += [DiffLine("+", after[j], 0, j + 1) for j in range(j1, j2)]
        first, last = group[0], group[-1]
        heading = next(
            (one for one in reversed(before[: first[1]]) if one[:1].isalpha() and one.endswith(":")), ""
        )
        found.append(
            Hunk(first[1] + 1, last[2] - first[1], first[3] + 1, last[4] - first[3], heading, tuple(lines))
        )
    return tuple(found)


def changed(path: str, old: str, new: str) -> ChangedFile:
    """A file with what git says of it."""
    lines = [line for hunk in hunks_of(old, new) for line in hunk.lines]
    kind: DiffKind = "modified" if old and new else "added" if new else "deleted"
    return ChangedFile(
        path, kind, old_mode="100644" if old else "", new_mode="100644" if new else "",
        old_blob=_blob(old), new_blob=_blob(new),
        added=sum(line.sign == "+" for line in lines), removed=sum(line.sign == "-" for line in lines),
    )  # fmt: skip


def _blob(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest() if text else ""


class ReviewWorker(StillWorker):
    """Answers from texts, and keeps marks and comments."""

    def __init__(self, texts: Mapping[str, tuple[str, str]] = TEXTS) -> None:
        super().__init__()
        self.texts = dict(texts)
        self.others: dict[str, FileDiff] = {}
        """Files without lines, by path."""
        self.left_out: tuple[str, ...] = ()
        self.reviewed: dict[str, str] = {}
        self.comments: list[ReviewComment] = []
        self.failure: FleetError | None = None
        self.check: CheckRun | None = None
        self.receipt = Receipt("r1", AGENT, "", "accepted")

    async def call(self, verb: str, *arguments: Any, on_step: Any = None, **options: Any) -> Any:
        if verb == "checks.runs":
            return {AGENT: self.check} if self.check is not None else {}
        family, _, name = verb.partition(".")
        if family != "review":
            return await super().call(verb, *arguments, on_step=on_step, **options)
        self.asked.append((verb, *arguments, options))
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure
        return getattr(self, f"_{name}")(*arguments[1:], **options)

    def _diff(self, *, against: str, counts: bool) -> Diff:
        files = [changed(path, *texts) for path, texts in self.texts.items()]
        if not counts:
            files = [replace(one, added=0, removed=0) for one in files]
        return Diff(
            AGENT,
            against or "e41c0d2f9a",
            "old",
            "new",
            (*files, *(one.file for one in self.others.values())),
            self.left_out,
        )

    def _file_diff(self, path: str, *, against: str, context: int) -> FileDiff:
        if path in self.others:
            return self.others[path]
        old, new = self.texts[path]
        # Lines are not counted where one file is read.
        file = replace(changed(path, old, new), added=0, removed=0)
        return FileDiff(file, hunks_of(old, new, context), len(old), len(new))

    def _reviewed(self) -> dict[str, str]:
        return dict(self.reviewed)

    def _mark_reviewed(self, path: str, content: str) -> None:
        self.reviewed[path] = content

    def _unmark_reviewed(self, path: str) -> None:
        del self.reviewed[path]

    def _refresh_comments(self) -> list[ReviewComment]:
        return list(self.comments)

    def _comment(
        self, path: str, side: Any, first: int, last: int, text: str, *, against: str
    ) -> ReviewComment:
        lines = self.texts[path][side == "new"].splitlines()
        new = ReviewComment(
            f"c{len(self.comments)}", AGENT, path, side, first, last, tuple(lines[first - 1 : last]), text,
            fleet_states.NOW, against=against,
        )  # fmt: skip
        self.comments.append(new)
        return new

    def _reword_comment(self, comment_id: str, text: str) -> None:
        self.comments = [replace(one, text=text) if one.id == comment_id else one for one in self.comments]

    def _delete_comment(self, comment_id: str) -> None:
        self.comments = [one for one in self.comments if one.id != comment_id]

    def _round_text(self) -> str:
        return "Review, round 1\n\n" + "\n\n".join(
            f"{one.path}:{one.last}\n{one.text}" for one in self.comments
        )

    def _send_comments(self, *, now: bool) -> Receipt:
        state = str(self.receipt.state)
        self.comments = [
            replace(one, round=1, sent_at=fleet_states.NOW, receipt="r1", receipt_state=state)
            for one in self.comments
        ]
        return self.receipt
