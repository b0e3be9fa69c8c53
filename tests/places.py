"""Where tests find the repository, recordings and scripted agents."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
REPOSITORY = TESTS.parent
RECORDINGS = TESTS / "recordings"
AGENTS = TESTS / "agents"
