"""Calibrated confidence of a real daemon, by the command."""

from support.daemon import DaemonProcess


def own_words(number: int) -> str:
    return " ".join(f"zq{number}x{place}" for place in range(7))


def test_answers_carry_confidence_once_it_was_learned_and_after_a_restart(daemon: DaemonProcess) -> None:
    for number in range(30):
        daemon.write(f"{number}.md", f"# Note {number}\n\n{own_words(number)}.\n")
    daemon.start()
    daemon.wait_fresh(vectors=True)

    before = daemon.ctl_json("search", own_words(3))
    learned = daemon.ctl("calibrate")
    known = daemon.ctl_json("search", own_words(3))
    foreign = daemon.ctl("search", "which wine goes with salmon")
    status = daemon.ctl_json("status")["calibration"]
    daemon.restart()
    daemon.wait_fresh(vectors=True)
    again = daemon.ctl_json("search", own_words(3))

    assert "confidence" not in before
    assert learned.returncode == 0, learned.stderr
    assert learned.stdout.startswith("calibrated on 30 questions with an answer and 60 without; at 0.5, ")
    assert known["confidence"] > 0.9
    assert "the notes may hold no answer to this" in foreign.stderr
    assert (status["is_usable"], status["answerable"], status["chunks"]) == (True, 30, 30)
    assert again["confidence"] == known["confidence"]


def test_too_few_notes_are_told(shared: DaemonProcess) -> None:
    done = shared.ctl("calibrate")

    assert done.returncode == 1
    assert "questions with an answer could be made, 20 are needed" in done.stdout


def test_client_hears_of_progress(shared: DaemonProcess) -> None:
    seen = []
    with shared.client() as client:
        answer = client.calibrate(questions=20, on_progress=seen.append)

    assert answer.calibration.is_usable is False
    assert {progress.phase for progress in seen} == {"calibrating"}
