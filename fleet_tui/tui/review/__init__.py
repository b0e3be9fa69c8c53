"""The review screen: what an agent has changed, file by file, with comments that go back to the agent."""
