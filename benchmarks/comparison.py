"""Variants of one choice against its default, for people: a table in Markdown and the differences that are clear."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from groove_daemon.evaluation.measures import Difference, paired_difference

Values = Mapping[str, Sequence[float]]
"""For each set of questions one number a question, in their order."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the variants of one choice gave: means and differences by variant and set of questions."""

    choice: str
    default: Mapping[str, float]
    means: Mapping[str, Mapping[str, float]]
    differences: Mapping[str, Mapping[str, Difference]]

    @classmethod
    def of(cls, choice: str, default: Values, variants: Mapping[str, Values]) -> "Comparison":
        """Compare every variant with the default, question by question."""
        return cls(
            choice,
            {name: fmean(values) for name, values in default.items()},
            {variant: {name: fmean(one) for name, one in values.items()} for variant, values in variants.items()},
            {
                variant: {name: paired_difference(values[name], base) for name, base in default.items()}
                for variant, values in variants.items()
            },
        )

    def table(self, columns: Sequence[str]) -> list[str]:
        """Mean, difference from the default and its interval; bold where that leaves 0 out."""
        lines = [f"| | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 1)}"]
        lines.append(f"| default | {' | '.join(f'{self.default[name]:.3f}' for name in columns)} |")
        for variant, means in self.means.items():
            cells = [_cell(means[name], self.differences[variant][name]) for name in columns]
            lines.append(f"| {variant} | {' | '.join(cells)} |")
        return lines

    def clear(self, columns: Sequence[str], sign: int) -> Mapping[str, Sequence[str]]:
        """The variants with an interval on that side of 0, and on which sets of questions."""
        found = {
            variant: [name for name in columns if sets[name].is_clear and sets[name].mean * sign > 0]
            for variant, sets in self.differences.items()
        }
        return {variant: names for variant, names in found.items() if names}


def _cell(mean: float, difference: Difference) -> str:
    if not any(difference):
        return f"{mean:.3f} (the same)"
    cell = f"{mean:.3f} {difference.mean:+.3f} ({difference.low:+.3f} to {difference.high:+.3f})"
    return f"**{cell}**" if difference.is_clear else cell
