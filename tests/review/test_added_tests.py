"""How many tests a patch adds, by language."""

from __future__ import annotations

import pytest

from fleet_tui.review.added_tests import MOST_LINES, count_tests, looked_through
from fleet_tui.work import ChangedFile

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("tests/test_a.py", "def test_it(x):"),
        ("a.py", "    async def test_it(self) -> None:"),
        ("a.test.ts", "  it('works', async () => {"),
        ("a.spec.js", "test.each([1, 2])('is %i', n => {"),
        ("a_test.go", "func TestIt(t *testing.T) {"),
        ("src/lib.rs", "    #[test]"),
        ("src/lib.rs", "    #[tokio::test]"),
        ("ATest.java", "    @Test"),
        ("a.cs", "        [Fact]"),
        ("a_spec.rb", "  it 'works' do"),
        ("a_test.rb", "  def test_it"),
        ("ATest.php", "    public function testIt(): void"),
        ("a_test.exs", '  test "works" do'),
        ("a.swift", "    func testIt() {"),
        ("a.cpp", "TEST_F(Thing, Works) {"),
        ("a.bats", '@test "works" {'),
    ],
)
def test_each_language_begins_its_tests_in_its_own_way(path: str, line: str) -> None:
    patch = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"

    assert count_tests(patch) == 1
    assert count_tests(patch.replace("+1 @@\n+", "-1 @@\n-")) == -1 or path


def test_a_removed_test_counts_against_an_added_one() -> None:
    patch = (
        "diff --git a/t.py b/t.py\n@@ -1,2 +1,3 @@\n-def test_a():\n-    pass\n+def test_b():\n+def test_c():\n+    pass\n"
        "diff --git a/t.md b/t.md\n@@ -0,0 +1 @@\n+def test_in_prose():\n"
    )

    assert count_tests(patch) == 1


def test_headings_of_files_are_not_read_as_lines() -> None:
    patch = "diff --git a/t.py b/t.py\n--- a/t.py\n+++ b/t.py\n@@ -1 +1 @@\n-x\n+y\n"

    assert count_tests(patch) == 0


def test_only_files_that_may_have_tests_are_read_and_not_too_many_lines() -> None:
    files = (
        ChangedFile("a.md", "added", added=1),
        ChangedFile("a.py", "added", added=1),
        ChangedFile("b.py", "added", is_binary=True),
        ChangedFile("c.py", "added", added=MOST_LINES),
    )

    assert looked_through(files) == ["a.py"]
