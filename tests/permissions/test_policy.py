"""What the rules allow, ask and deny: an allow is certain, a denial is wide, and every doubt is asked."""

from __future__ import annotations

import fnmatch
import json
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet_tui.permissions.policy import Policy
from fleet_tui.permissions.rules import DECISIONS, DecisionKind, Malformed, PermissionRule, problems
from fleet_tui.permissions.shell import read
from fleet_tui.permissions.shell_words import Unreadable
from fleet_tui.permissions.tool_use import ToolUse
from tests.places import RECORDINGS

pytestmark = pytest.mark.pure

HOME = "/home/me/worktree"
RECORDED = [json.loads(line) for line in (RECORDINGS / "hooks" / "claude.jsonl").read_text().splitlines()]


def allow(command: str = "", **more: str) -> PermissionRule:
    return PermissionRule("allow", command=command, **more)


def ask(command: str = "", **more: str) -> PermissionRule:
    return PermissionRule("ask", command=command, **more)


def deny(command: str = "", **more: str) -> PermissionRule:
    return PermissionRule("deny", command=command, **more)


def of_command(command: str | list[str], *rules: PermissionRule, **more: Any) -> str:
    request = ToolUse("Bash", {"command": command, **more}, HOME)
    return Policy("on", rules).decide(request, resolve=lambda path: path).decision


def of_path(root: Path, path: str, *rules: PermissionRule, tool: str = "Edit", key: str = "file_path") -> str:
    return Policy("on", rules).decide(ToolUse(tool, {key: path}, str(root))).decision


# ── commands ──

GIT = (allow("git status*"), allow("git diff *"))


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git status", "allow"),
        ("git status --short", "allow"),
        ("git  status", "allow"),
        ("git diff", "allow"),
        ("git diff src/a.py", "allow"),
        ("git status && git diff", "allow"),
        ("git status | git diff", "allow"),
        ("git status 2>&1", "allow"),
        ("git status > /dev/null", "allow"),
        ("git diff src/*.py", "allow"),
        ("git diff *.py", "ask"),
        ('git diff "$FILE"', "ask"),
        ("git push", "ask"),
        ("git statusx; git push", "ask"),
        ("git difftool", "ask"),
        ("git status; rm -rf /", "ask"),
        ("git status && rm -rf /", "ask"),
        ("git status || rm -rf /", "ask"),
        ("git status | sh", "ask"),
        ("git status & rm x", "ask"),
        ("git status\nrm x", "ask"),
        ("git status $(rm x)", "ask"),
        ("git status `rm x`", "ask"),
        ('git status "$(rm x)"', "ask"),
        ("git status > /etc/passwd", "ask"),
        ("git status >> notes", "ask"),
        ("git status < secrets", "ask"),
        ("(git status; rm x)", "ask"),
        ("git status <(rm x)", "ask"),
        ("git status # rm", "ask"),
        ("PATH=. git status", "ask"),
        ("GIT_PAGER=rm git diff", "ask"),
        ("./git status", "ask"),
        ("/tmp/git status", "ask"),
        ("sudo git status", "ask"),
        ("env git status", "ask"),
        ("sh -c 'git status'", "ask"),
        ("eval git status", "ask"),
        ("git -c alias.status='!rm x' status", "ask"),
        ("git -C /elsewhere status", "ask"),
        ("git diff --ext-diff", "ask"),
        ("git diff --output=x", "ask"),
        ("git diff -o x; rm y", "ask"),
        ("'git status'", "ask"),
        ("git 'status; rm x'", "allow"),
        ("GIT status", "ask"),
        ("if git status; then git diff; fi", "ask"),
        ("", "ask"),
    ],
)
def test_an_allow_is_only_for_what_it_matches_whole(command: str, decision: str) -> None:
    assert of_command(command, *GIT) == decision


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm  -rf  /",
        "RM -rf /",
        "r''m x",
        '"rm" x',
        "\\rm x",
        "r\\\nm x",
        "/bin/rm x",
        "../../bin/rm x",
        "FOO=1 rm x",
        "A=1 B=2 /bin/rm x",
        "ls; rm x",
        "ls && rm x",
        "ls\nrm x",
        "ls | xargs rm",
        "ls | xargs -0 -n1 rm",
        "echo $(rm x)",
        'echo "`rm x`"',
        "(rm x)",
        "sudo rm x",
        "sudo -u root rm x",
        "env rm x",
        "env A=1 rm x",
        "env -i rm x",
        "nohup rm x",
        "timeout -k 1 5 rm x",
        "sh -c 'rm x'",
        "bash -lc 'ls; rm x'",
        "eval rm x",
        "find . -exec rm {} +",
        "find . -delete",
        "su -c 'rm x'",
        "if true; then rm x; fi",
        "{ rm x; }",
        "! rm x",
        "rm x # it",
        "for f in a; do rm $f; done",
        "rm $X",
        "rm *",
    ],
)
def test_a_denial_reaches_every_guise_of_a_command(command: str) -> None:
    assert of_command(command, deny("rm *"), allow("*")) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "$X -rf /",
        "{rm,-rf,/}",
        "/bin/r? x",
        "$(echo rm) x",
        "sh -c \"$X\"",
        "sh script",
        "python3 -c 'import os'",
        "git -c alias.x='!rm y' x",
        "awk 'BEGIN{system(\"x\")}'",
        "$'\\x72m' x",
        "cat <<E\nx\nE",
    ],
)  # fmt: skip
def test_what_may_be_denied_is_asked_even_where_all_else_is_allowed(command: str) -> None:
    wanted = "allow" if command == "sh script" else "ask"

    assert of_command(command, deny("rm *"), allow("*")) == wanted


@pytest.mark.parametrize(
    "command", ["git commit -m 'rm it'", "echo rm x", "ls rm", "npm run rm", "echo $HOME", "git rm-it"]
)
def test_a_denial_does_not_reach_words_that_only_look_alike(command: str) -> None:
    assert of_command(command, deny("rm *"), allow("*")) == "allow"


def test_a_certain_denial_precedes_a_possible_one() -> None:
    rules = (deny("rm *"), allow("git *"), deny("git push*"), allow("*"))

    assert of_command("git -C x push", *rules) == "deny"
    assert of_command("env -u X git push", *rules) == "deny"
    assert of_command("env -u X git pull", *rules) == "ask"


def test_the_first_rule_that_matches_a_part_decides() -> None:
    assert of_command("git push", ask("git push*"), allow("git *")) == "ask"
    assert of_command("git push", allow("git *"), deny("git push*")) == "allow"
    assert of_command("git log && git push", ask("git push*"), allow("git *")) == "ask"
    assert of_command("git -C x push", deny("git push*"), allow("*")) == "deny"


def test_the_strictest_part_decides_about_the_whole() -> None:
    rules = (allow("a*"), ask("b*"), deny("c*"))

    assert of_command("a1; a2", *rules) == "allow"
    assert of_command("a1; b1", *rules) == "ask"
    assert of_command("b1; c1; a1", *rules) == "deny"


def test_a_redirection_is_allowed_by_a_rule_of_its_own() -> None:
    assert of_command("echo hi > build/log", allow("echo *"), allow("> build/*")) == "allow"
    assert of_command("echo hi > src/log", allow("echo *"), allow("> build/*")) == "ask"


def test_wrappers_need_a_rule_for_themselves_and_for_what_they_run() -> None:
    assert of_command("timeout 60 npm test", allow("npm test*")) == "ask"
    assert of_command("timeout 60 npm test", allow("timeout *")) == "ask"
    assert of_command("timeout 60 npm test", allow("timeout *"), allow("npm test*")) == "allow"


def test_a_rule_without_a_command_allows_all_that_can_be_read() -> None:
    assert of_command("git push; rm $X", PermissionRule("allow", "Bash")) == "allow"
    assert of_command("cat <<E\nE", PermissionRule("allow", "Bash")) == "ask"
    assert of_command("git push", PermissionRule("allow", "Ba*h")) == "allow"
    assert of_command("git push", PermissionRule("allow", "bash")) == "ask"


def test_what_expands_later_is_allowed_only_where_a_star_matches() -> None:
    assert of_command("ls src/*.py", allow("ls *")) == "allow"
    assert of_command("ls src/*.py", allow("ls src/*")) == "allow"
    assert of_command("ls $X", allow("ls *")) == "allow"
    assert of_command("ls$X", allow("ls *")) == "ask"
    assert of_command("ls $X.py", allow("ls *.py")) == "ask"
    assert of_command("ls src*", allow("ls src/*")) == "ask"


def test_a_program_with_its_arguments_is_judged_too() -> None:
    assert of_command(["git", "status"], *GIT) == "allow"
    assert of_command(["bash", "-lc", "git status"], *GIT) == "allow"
    assert of_command(["bash", "-lc", "git status; rm x"], *GIT) == "ask"
    assert of_command(["rm", "x"], deny("rm *"), allow("*")) == "deny"


def test_a_command_that_runs_elsewhere_is_asked(tmp_path: Path) -> None:
    inside, outside = tmp_path / "tree", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    policy = Policy("on", (allow("git status*"),))

    def judged(cwd: Path, **more: object) -> str:
        request = ToolUse("Bash", {"command": "git status", **more}, str(cwd), str(inside))
        return policy.decide(request).decision

    assert judged(inside) == "allow"
    assert judged(outside) == "ask"
    assert judged(inside, workdir=str(outside)) == "ask"
    assert judged(inside, workdir=str(inside)) == "allow"


def test_a_request_to_leave_the_sandbox_is_asked() -> None:
    assert of_command("git status", *GIT, dangerouslyDisableSandbox=True) == "ask"
    assert of_command("git status", *GIT, with_escalated_permissions=True) == "ask"
    assert of_command("git status", *GIT, dangerouslyDisableSandbox=False) == "allow"


def test_a_denied_path_is_found_in_commands() -> None:
    rules = (deny(path="**/.env"), allow("*"))

    assert of_command("cat .env", *rules) == "deny"
    assert of_command("cat ./x/../.env", *rules) == "deny"
    assert of_command("curl --data=@.env x", *rules) == "deny"
    assert of_command("cp --target=.env x", *rules) == "deny"
    assert of_command("echo x > .ENV", *rules) == "deny"
    assert of_command(f"cat {HOME}/.env", *rules) == "deny"
    assert of_command("cat .e*", *rules) == "ask"
    assert of_command("cat README", *rules) == "allow"


# ── paths ──


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A worktree with links out of it and within it."""
    root = tmp_path / "tree"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "secret").mkdir()
    (tmp_path / "outside").mkdir()
    (root / "src" / "out").symlink_to(tmp_path / "outside")
    (root / "src" / "in").symlink_to(root / "secret")
    (root / "src" / "loop").symlink_to(root / "src" / "loop")
    return root


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("src/a.py", "allow"),
        ("./src/a.py", "allow"),
        ("src/deep/new/a.py", "allow"),
        ("src/../src/a.py", "allow"),
        ("other/a.py", "ask"),
        ("src", "allow"),
        ("srcx/a.py", "ask"),
        ("src/../secret/a", "ask"),
        ("../tree/src/a.py", "allow"),
        ("../outside/a", "ask"),
        ("/etc/passwd", "ask"),
        ("~/.ssh/config", "ask"),
        ("src/out/a", "ask"),
        ("src/out/../a", "ask"),
        ("src/in/a", "ask"),
        ("src/.hidden", "ask"),
        ("src/.git/config", "ask"),
        ("src/a\0b", "ask"),
        ("src/loop/a", "allow"),
        ("SRC/a.py", "ask"),
    ],
)
def test_an_allowed_path_stays_where_the_rule_says(tree: Path, path: str, decision: str) -> None:
    assert of_path(tree, path, allow(path="src/**")) == decision


def test_an_absolute_path_inside_is_a_path_inside(tree: Path) -> None:
    assert of_path(tree, str(tree / "src" / "a.py"), allow(path="src/**")) == "allow"
    assert of_path(tree, str(tree) + "x/src/a.py", allow(path="**")) == "ask"


def test_a_worktree_that_is_itself_reached_through_a_link_works(tmp_path: Path, tree: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tree)

    assert of_path(link, str(link / "src" / "a.py"), allow(path="src/**")) == "allow"


@pytest.mark.parametrize(
    ("glob", "path", "decision"),
    [
        ("*.md", "a.md", "allow"),
        ("*.md", "docs/a.md", "ask"),
        ("**/*.md", "docs/x/a.md", "allow"),
        ("**/*.md", "a.md", "allow"),
        ("docs/*/a.md", "docs/x/a.md", "allow"),
        ("docs/*/a.md", "docs/x/y/a.md", "ask"),
        ("docs/**/a.md", "docs/a.md", "allow"),
        ("docs/?.md", "docs/a.md", "allow"),
        ("docs/?.md", "docs/ab.md", "ask"),
        ("docs/[ab].md", "docs/a.md", "allow"),
        ("docs/[!ab].md", "docs/a.md", "ask"),
        ("docs[!x]a.md", "docs/a.md", "ask"),
        ("**", "anything/at/all", "allow"),
        ("**", ".git", "ask"),
        ("**", ".claude/settings.json", "ask"),
        ("**", "a/.env", "ask"),
        ("**/.env", "a/.env", "allow"),
        (".claude/*", ".claude/settings.json", "allow"),
        ("a.b", "aXb", "ask"),
        ("./src/**", "src/a", "allow"),
    ],
)
def test_path_patterns_know_names_and_dots(tree: Path, glob: str, path: str, decision: str) -> None:
    assert of_path(tree, path, allow(path=glob)) == decision


def test_a_denied_path_is_denied_under_every_name(tree: Path) -> None:
    rules = (deny(path="secret/**"), allow(path="**"))

    assert of_path(tree, "secret/a", *rules) == "deny"
    assert of_path(tree, "src/in/a", *rules) == "deny"
    assert of_path(tree, "Secret/a", *rules) == "deny"
    assert of_path(tree, "secret/a", *rules, tool="mcp__x__y", key="target") == "deny"
    assert of_path(tree, "src/out/a", deny(path="/**/outside/**"), allow(path="**")) == "deny"


def test_every_path_of_a_tool_has_to_match(tree: Path) -> None:
    policy = Policy("on", (allow(path="src/**"),))

    def judged(tool: str, **given: object) -> str:
        return policy.decide(ToolUse(tool, given, str(tree))).decision

    assert judged("MultiEdit", edits=[{"file_path": "src/a"}, {"file_path": "src/b"}]) == "allow"
    assert judged("MultiEdit", edits=[{"file_path": "src/a"}, {"file_path": "b"}]) == "ask"
    assert judged("mcp__fs__copy", source_path="src/a", destination="/etc/b") == "ask"
    assert judged("Edit", file_path="src/a", old_string="/bin/sh", new_string="../x") == "allow"
    assert judged("Grep", pattern="x", path="src") == "allow"
    assert judged("Grep", pattern="x") == "ask"
    assert judged("Glob", pattern="src/**/*.py", path=".") == "ask"
    assert judged("Glob", pattern="*.py", path="src") == "ask"
    assert judged("WebFetch", url="https://example.org/src/a") == "ask"
    assert judged("NotebookEdit", notebook_path="src/a.ipynb", new_source="x") == "allow"
    assert judged("Task", prompt="do it") == "ask"


def test_a_patch_is_judged_by_the_files_it_names(tree: Path) -> None:
    policy = Policy("on", (allow(path="src/**"),))

    def judged(patch: str) -> str:
        return policy.decide(ToolUse("apply_patch", {"command": patch}, str(tree))).decision

    assert judged("*** Begin Patch\n*** Update File: src/a\n+x\n*** End Patch") == "allow"
    assert judged("*** Begin Patch\n*** Update File: src/a\n*** Move to: b\n*** End Patch") == "ask"
    assert judged("*** Begin Patch\n*** Add File: src/a\n*** Delete File: ../b\n*** End Patch") == "ask"
    assert judged("rm -rf /") == "ask"


def test_a_path_never_allows_a_command(tree: Path) -> None:
    rule = allow(path="src/**")
    request = ToolUse("Bash", {"command": "cat src/a"}, str(tree))

    assert Policy("on", (rule,)).decide(request).decision == "ask"


def test_rules_that_can_never_allow_are_named() -> None:
    found = problems(
        [allow("a", path="b"), allow(path="/etc/*"), allow(path="../x"), allow(path="~/x"), deny(path="/etc/*"), allow("a")]
    )  # fmt: skip

    assert [line.partition(":")[0] for line in found] == [
        f"approve.rules[{number}]" for number in (1, 2, 3, 4)
    ]


# ── requests as the programs make them ──


def test_recorded_requests_are_understood() -> None:
    write, touch, question = (ToolUse.from_payload(payload) for payload in RECORDED)

    assert (write.tool, write.what) == ("Write", f"{HOME}/a1.txt")
    assert (touch.command, touch.what) == ("touch p1.txt", "touch p1.txt")
    policy = Policy("on", (allow("touch *"), allow(path="*.txt")))
    assert [policy.decide(request).decision for request in (write, touch, question)] == [
        "allow",
        "allow",
        "ask",
    ]


def test_a_question_to_a_person_is_never_allowed() -> None:
    question = ToolUse.from_payload(RECORDED[2])

    assert Policy("on", (PermissionRule("allow"),)).decide(question).decision == "ask"
    assert Policy("on", (PermissionRule("deny", "AskUserQuestion"),)).decide(question).decision == "deny"


def test_a_request_of_codex_is_understood() -> None:
    payload = {
        "session_id": "01a1", "turn_id": "01a2", "transcript_path": None, "cwd": HOME, "model": "gpt-5",
        "hook_event_name": "PermissionRequest", "permission_mode": "default", "tool_name": "Bash",
        "tool_input": {"command": "git status", "description": "to see what changed"},
    }  # fmt: skip

    assert Policy("on", GIT).decide(ToolUse.from_payload(payload)).decision == "allow"


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"tool_name": None, "tool_input": None, "cwd": None},
        {"tool_name": 3, "tool_input": [1], "cwd": {}},
        {"tool_name": "Bash", "tool_input": {"command": 3}, "cwd": HOME},
        {"tool_name": "Bash", "tool_input": {"command": []}, "cwd": HOME},
        {"tool_name": "Bash", "tool_input": {"command": ["ls", 3]}, "cwd": HOME},
        {"tool_name": "Bash", "tool_input": {"command": "git status"}, "cwd": "relative"},
        {"tool_name": "Edit", "tool_input": {"file_path": None}, "cwd": HOME},
        {"tool_name": "Edit", "tool_input": {"file_path": ""}, "cwd": ""},
    ],
)
def test_a_malformed_request_is_asked(payload: dict[str, Any]) -> None:
    policy = Policy("on", (allow("git status*"), allow(path="src/**")))

    assert policy.decide(ToolUse.from_payload(payload)).decision == "ask"


# ── as data ──


def test_a_policy_travels_as_plain_data() -> None:
    policy = Policy("shadow", (allow("git *"), deny(path=".env"), PermissionRule("ask", "Web*")))
    plain = json.loads(json.dumps(policy.to_plain()))

    assert Policy.from_plain(plain) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert plain["rules"][0] == {"decision": "allow", "command": "git *"}
    assert Policy.from_plain({}) == Policy() == Policy("off", ())


def test_a_rule_with_an_unknown_key_only_asks() -> None:
    policy = Policy.from_plain({"mode": "on", "rules": [{"decision": "allow", "comand": "git *"}]})

    assert policy.rules == (PermissionRule("ask"),)


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({"mode": "yes"}, "mode must be"),
        ({"rules": [{}]}, "[1].decision must be"),
        ({"rules": [{"decision": "allow"}, {"decision": "maybe"}]}, "[2].decision must be"),
        ({"rules": [{"decision": "allow", "command": ""}]}, "[1].command must be"),
        ({"rules": [{"decision": "allow", "tool": 3}]}, "[1].tool must be"),
        ({"rules": [{"decision": "allow", "path": ["a"]}]}, "[1].path must be"),
    ],
)
def test_malformed_data_is_refused_by_its_place(plain: dict[str, Any], said: str) -> None:
    with pytest.raises(Malformed) as error:
        Policy.from_plain(plain)

    assert str(error.value).startswith(said)


def test_judging_imports_nothing() -> None:
    """A holder may be older than the installation around it."""
    code = (
        "import json, sys; from fleet_tui.permissions.policy import Policy; from fleet_tui.permissions.tool_use import ToolUse; before = set(sys.modules)\n"
        "policy = Policy.from_plain({'mode': 'on', 'rules': [{'decision': 'deny', 'path': '**/.env'},"
        " {'decision': 'allow', 'command': 'git *'}]})\n"
        "for given in ({'command': 'git status; ls `x` $Y'}, {'file_path': '~/a'}, {'command': 'if'}):\n"
        "    policy.decide(ToolUse('Bash', given, '/'))\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


# ── any request ──

PROGRAMS = st.sampled_from(
    ["git status", "git diff", "npm test", "ls -l", "rm -rf x", "curl x", "A=1 ls", "/bin/ls"]
)
JOINTS = st.sampled_from([";", "&&", "||", "|", "&", "\n", " ; ", "\n\n"])
WRAPS = st.sampled_from(["{}", "({})", "echo $({})", "echo `{}`", 'echo "$({})"', "sh -c '{}'", "sudo {}", "env {}", "eval {}", "time {}", "xargs {}", "{} > out", "X=1 {}"])  # fmt: skip
RULES = st.lists(
    st.builds(
        PermissionRule,
        st.sampled_from(DECISIONS),
        st.sampled_from(["*", "Bash", "Edit"]),
        st.sampled_from(["", "*", "git *", "git status*", "ls *", "npm test*", "rm *", "echo *", "sudo *"]),
    ),
    max_size=5,
)


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A command line, and the commands that are in it as they were put in."""
    commands = draw(st.lists(PROGRAMS, min_size=1, max_size=4))
    wrapped = [draw(WRAPS).format(command) for command in commands]
    line = wrapped[0]
    for one in wrapped[1:]:
        line += draw(JOINTS) + one
    return line, commands


@given(lines(), st.sampled_from(["git status", "git diff", "npm test", "ls -l"]))
def test_a_command_with_a_part_that_no_rule_matches_is_never_allowed(
    line: tuple[str, list[str]], allowed: str
) -> None:
    text, commands = line
    rules = (allow(allowed), allow("echo *"), allow("sh *"), allow("sudo *"), allow("> *"), allow("env *"), allow("eval *"), allow("time *"), allow("xargs *"))  # fmt: skip

    if of_command(text, *rules) == "allow":
        assert set(commands) == {allowed}


@given(lines(), RULES)
def test_a_denied_command_is_denied_wherever_it_hides(
    line: tuple[str, list[str]], rules: list[PermissionRule]
) -> None:
    text, commands = line

    decision = of_command(text, deny("rm *"), *rules)

    assert (decision == "deny") >= ("rm -rf x" in commands)


@given(st.text("gitsau rm-;&|$()`\"'\\<>*\n#={}", max_size=40), RULES)
def test_allowed_means_that_every_part_is_allowed_by_itself(text: str, rules: list[PermissionRule]) -> None:
    if of_command(text, *rules) != "allow":
        return
    try:
        parts = read(text)
    except Unreadable:
        pytest.fail("an unreadable command was allowed")
    for part in parts:
        assert any(
            rule.decision == "allow" and rule.tool != "Edit" and (not rule.command or rule.command == "*" or part.text.startswith(rule.command.rstrip("*").rstrip()))
            for rule in rules
        )  # fmt: skip


@given(lines(), RULES, st.integers(0, 4))
def test_a_denial_more_never_allows_more(
    line: tuple[str, list[str]], rules: list[PermissionRule], place: int
) -> None:
    severity = ("allow", "ask", "deny").index
    stricter = [*rules[:place], deny("git *"), *rules[place:]]

    before = of_command(line[0], *rules)
    after = of_command(line[0], *stricter)

    assert severity(after) >= severity(before)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8), RULES)  # fmt: skip
def test_no_payload_makes_judging_fail(tool_input: Any, rules: list[PermissionRule]) -> None:
    request = ToolUse.from_payload({"tool_name": "Bash", "tool_input": tool_input, "cwd": HOME})

    assert Policy("on", tuple(rules)).decide(request).decision in DECISIONS
    assert request.what.isprintable() or not request.what


# ── patterns of strangers ──


@pytest.mark.parametrize("decision", ["deny", "allow"])
@pytest.mark.parametrize(
    "parts",
    [
        {"command": "*a" * 40 + "*b"},
        {"tool": "*a" * 30 + "b"},
        {"path": "*a" * 40 + "*b"},
        {"path": "**/a/" * 30 + "b"},
        {"path": "**/*a*a*a/" * 6 + "b"},
        {"path": "**/*a*a*a/" * 6 + "b/**"},
    ],
    ids=str,
)
def test_no_pattern_takes_long(decision: DecisionKind, parts: dict[str, str]) -> None:
    """A project's rules that deny apply before the user has trusted the project."""
    policy = Policy("on", (PermissionRule(decision, **parts),))
    began = time.monotonic()
    for tool, value in (
        ("Bash", {"command": "a" * 3000}),
        ("Write", {"file_path": "/work/" + "a/" * 60 + "c"}),
        ("a" * 200, {"file_path": "/work/" + "a" * 200}),
        ("Write", {"file_path": "/work/" + ("a" * 30 + "/") * 24 + "c"}),
    ):
        policy.decide(ToolUse(tool, value, "/work"), resolve=lambda path: path)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("decision", ["deny", "allow"])
@given(
    glob=st.text("ab/.[]*?!^-\\:&|~", min_size=1, max_size=15),
    path=st.text("ab/.[]*", min_size=1, max_size=12),
)
@example(glob="[b-a]", path="a")
@example(glob="src/[!b-a].py", path="src/a.py")
def test_any_path_pattern_can_be_matched(decision: DecisionKind, glob: str, path: str) -> None:
    policy = Policy("on", (PermissionRule(decision, path=glob),))
    request = ToolUse("Write", {"file_path": f"/work/{path}"}, "/work")

    assert policy.decide(request, resolve=lambda path: path).decision in (decision, "ask")


def test_a_range_that_runs_backwards_holds_no_character() -> None:
    def decided(glob: str) -> str:
        request = ToolUse("Write", {"file_path": "/work/a"}, "/work")
        return Policy("on", (deny(path=glob),)).decide(request, resolve=lambda path: path).decision

    assert decided("[b-a]") == "ask"
    assert decided("[b-aa]") == "deny"
    assert decided("[!b-a]") == "deny"
    assert decided("[a-b]") == "deny"


def _fits(steps: list[str], names: list[str]) -> bool:
    """The meaning of a path pattern, by trying everything."""
    if not steps or not names:
        return not steps and not names
    if steps[0] == "**":
        return _fits(steps[1:], names) or (not names[0].startswith(".") and _fits(steps, names[1:]))
    is_hidden = names[0].startswith(".") and not steps[0].startswith(".")
    return not is_hidden and fnmatch.fnmatchcase(names[0], steps[0]) and _fits(steps[1:], names[1:])


@given(
    steps=st.lists(
        st.sampled_from(["a", "b", ".a", "*", "*a*", "a*b*", "?", "**", "**"]), min_size=1, max_size=6
    ),
    names=st.lists(st.sampled_from(["a", "b", ".a", "ab", "ba", "aab"]), min_size=1, max_size=6),
)
def test_looking_for_each_part_once_finds_what_trying_everything_does(
    steps: list[str], names: list[str]
) -> None:
    steps = [*steps, "b"]
    policy = Policy("on", (PermissionRule("allow", path="/".join(steps)),))
    request = ToolUse("Write", {"file_path": f"/work/{'/'.join(names)}"}, "/work")
    allowed = policy.decide(request, resolve=lambda path: path).decision == "allow"
    assert allowed == _fits(steps, names)
