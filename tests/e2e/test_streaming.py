"""Progressive answers of a real daemon."""

import json

from support.daemon import DaemonProcess


def test_parts_come_before_the_answer_with_the_same_ids(shared: DaemonProcess) -> None:
    seen = []
    with shared.client() as client:
        answer = client.search("heron reeds", on_partial=seen.append)
        plain = client.search("heron reeds")

    assert "stream" in client.server.capabilities.features
    assert [partial.stage for partial in seen] == ["text", "fusion"]
    assert [[hit.id for hit in partial.results] for partial in seen] == [[hit.id for hit in answer.results]] * 2
    assert answer.results == plain.results


def test_command_writes_a_line_for_each_part(shared: DaemonProcess) -> None:
    done = shared.ctl("search", "heron", "--stream", "--jsonl")
    lines = [json.loads(line) for line in done.stdout.splitlines()]

    assert [line["stage"] for line in lines] == ["text", "fusion", "answer"]
    assert lines[-1]["fresh"] is True
    assert lines[-1]["results"][0]["path"] == "heron.md"
