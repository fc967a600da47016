from benchmarks.comparison import Comparison

DEFAULT = {"notes": [1.0] * 9 + [0.5], "more": [0.0, 1.0]}


def made(notes: list[float], more: list[float]) -> Comparison:
    return Comparison.of("a choice", DEFAULT, {"other": {"notes": notes, "more": more}})


def test_table_has_mean_difference_and_interval_and_marks_what_is_clear():
    lines = made([0.75] * 9 + [0.25], [0.0, 1.0]).table(["notes", "more"])

    assert lines == [
        "| | notes | more |",
        "|---|---|---|",
        "| default | 0.950 | 0.500 |",
        "| other | **0.700 -0.250 (-0.250 to -0.250)** | 0.500 (the same) |",
    ]


def test_a_difference_that_may_be_none_is_not_marked():
    """Of two questions one gains a half: resamples reach from 0 to a half."""
    assert made(DEFAULT["notes"], [0.5, 1.0]).table(["more"])[-1] == "| other | 0.750 +0.250 (+0.000 to +0.500) |"


def test_clear_differences_are_told_by_side():
    compared = made([0.75] * 9 + [0.25], [0.25, 1.25])

    assert compared.clear(["notes", "more"], 1) == {"other": ["more"]}
    assert compared.clear(["notes", "more"], -1) == {"other": ["notes"]}
    assert compared.clear(["more"], -1) == {}
