"""A machine for the installer whose tools answer from a table and are written down."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from groove_daemon.service.base import Completed, Host


class Tools:
    """Answers a command by the longest known beginning of it; anything else succeeds without a word."""

    def __init__(self, answers: Mapping[str, Completed | list[Completed]] | None = None) -> None:
        self.answers = dict(answers or {})
        self.calls: list[str] = []

    def __call__(self, arguments: Sequence[str]) -> Completed:
        call = " ".join(arguments)
        self.calls.append(call)
        known = [start for start in self.answers if call.startswith(start)]
        if not known:
            return Completed(0)
        answer = self.answers[max(known, key=len)]
        if isinstance(answer, Completed):
            return answer
        return answer.pop(0) if len(answer) > 1 else answer[0]


def make_host(home: Path, tools: Tools, *, platform: str = "linux", environment: Mapping[str, str] = {}) -> Host:
    return Host(platform, home, environment, 1000, "ann", tools, home / "linger")
